# expect: INCONCLUSIVE
print(sum(range(10)))
