USERS = ["ada", "ben", "cleo", "dan", "elsa", "finn", "gwen", "hugo", "iris", "jack"]
FILMS = ["alien", "brazil", "casablanca", "diva", "eraserhead", "fargo", "gilda", "heat"]


def ratings():
    """(user, film, stars)"""
    for u, user in enumerate(USERS):
        for f, film in enumerate(FILMS):
            if (u * 3 + f * 5) % 4:
                yield user, film, 1 + (u * f + u + f) % 5
