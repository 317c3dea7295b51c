# Runs the tests of the package in a tree that has booted. /packages/arguments has arguments of autopkgtest, one a line.
set -u
cd /
# As a login would find it: a service has no such variables.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
sh -eu /packages/before >/packages/output 2>&1 </dev/null
openssl list -providers >/packages/providers 2>&1
xargs --arg-file=/packages/arguments autopkgtest >>/packages/output 2>&1 </dev/null
