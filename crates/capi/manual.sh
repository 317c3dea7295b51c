#!/bin/sh
# Makes a manual page of section 3 for each function of oarlock.h out of its words: manual.sh FOLDER.
set -eu

folder=$1
header=$(cd "$(dirname "$0")" && pwd)/include/oarlock.h

awk -v folder="$folder" '
# The words of a function, until its declaration follows.
/^\/\*/ { words = ""; inside = 1 }
inside {
    line = $0
    ends = sub(/ *\*\/$/, "", line)
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    words = words line "\n"
    if (ends) inside = 0
    next
}
/^(int|const char \*) ?oarlock_/ { declaration = ""; declares = 1 }
declares {
    declaration = declaration $0 "\n"
    if (/;$/) {
        declares = 0
        page()
    }
}
function troff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/`[^`]*`/, "\\fI&\\fR", text)
    gsub(/`/, "", text)
    # A line that begins with one of these would be an instruction.
    gsub(/\n\./, "\n\\\\\\&.", text)
    gsub(/\n'"'"'/, "\n\\\\\\&'"'"'", text)
    return text
}
function page(    name, file, brief) {
    match(declaration, /oarlock_[a-z_0-9]+\(/)
    name = substr(declaration, RSTART, RLENGTH - 1)
    brief = words
    sub(/\.([ \n].*)?$/, "", brief)
    sub(name "\\(\\) ", "", brief)
    gsub(/\n/, " ", brief)
    file = folder "/" name ".3"
    printf ".TH %s 3 \"\" oarlock oarlock\n.SH NAME\n%s \\- %s\n", name, name, troff(brief) >file
    printf ".SH SYNOPSIS\n.nf\n.B #include <oarlock.h>\n.sp\n%s.fi\n", troff(declaration) >file
    printf ".SH DESCRIPTION\n%s", troff(words) >file
    if (declaration ~ /^int/) {
        printf ".SH RETURN VALUE\n0, or a negative number that\n.BR oarlock_strerror (3)\nhas a text for. " >file
        printf "Any function fails with OARLOCK_E_HANDLE for an invalid handle, with OARLOCK_E_BUSY for " >file
        printf "an object that takes one call at a time and has one, and with OARLOCK_E_ARGUMENT for a NULL that " >file
        printf "is not allowed here.\n.BR oarlock_error_detail (3)\nsays more.\n" >file
    }
    printf ".SH SEE ALSO\n.BR oarlock_strerror (3),\n.BR oarlock_error_detail (3),\n.BR oarlock (1)\n" >file
    close(file)
}
' "$header"
