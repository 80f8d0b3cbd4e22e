"""A language server: what a check finds, shown in an editor while one types. Needs the extra `lsp`.

`server.py` answers the editor, `folder.py` keeps what is found in one folder, `protocol.py` says it in the protocol's
words. Whole programs are checked, with the texts of open files in place of what is on the disk.
"""
