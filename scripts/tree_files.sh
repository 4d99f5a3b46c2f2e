# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced. tree_files PATTERN...: prints the files of the tree that match one of git's pathspecs, also new ones that nobody has added yet. A list of
# folders would miss the next folder.
tree_files() {
    local file
    git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do [[ ! -f $file ]] || echo "$file"; done
}
