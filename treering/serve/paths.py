"""Which folders on the server's disk a client may name."""

from __future__ import annotations

import os
from pathlib import Path

from treering.errors import AccessDenied, InputError
from treering.serve.settings import ServerSettings
from treering.views.code.rounds.git import Git


def served(settings: ServerSettings, root: str) -> Path:
    """The folder that a client names, if it is inside a served folder.

    Raises AccessDenied, InputError.
    """
    folder = Path(os.path.realpath(root))  # after links and "..": what would really be read
    if not any(folder.is_relative_to(allowed) for allowed in settings.code_roots):
        raise AccessDenied(
            f"{root!r} is not in a folder whose code this server may read; its owner names such "
            "folders with `treering serve --code-root FOLDER`"
        )
    try:
        folder.is_dir()
    except OSError as error:
        raise InputError(f"{root!r} cannot be a folder: {error.strerror}") from error
    return folder


def served_git(settings: ServerSettings, root: str) -> Path:
    """As ``served``, for all that git reads of the repository that the folder is in.

    Its ``.git`` may be a link or name the store of another repository, as that of a worktree does.
    """
    folder = served(settings, root)
    for place in Git.at(folder).places():
        served(settings, str(place))
    return folder
