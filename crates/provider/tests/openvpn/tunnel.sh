#!/bin/sh
# A tunnel of OpenVPN's between two hosts, and a file through it each way.
# Arguments: FOLDER CIPHER CONFIGURATION-OF-A CONFIGURATION-OF-B. FOLDER/sent goes from b to a, where it is
# written to FOLDER/came, and from there back to FOLDER/back. Prints the seconds of the first transfer.
#
# To be run by `unshare --net --mount --pid --fork --kill-child`: all that is made here goes with it.
set -eu
folder=$1 cipher=$2 conf_a=$3 conf_b=$4
file=$(dirname "$0")/../strongswan/file.py

mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/netns

ip link set lo up
ip netns add b
ip link add name veth0 type veth peer name veth0 netns b
ip address add 10.77.0.1/24 dev veth0
ip link set veth0 up
ip -n b address add 10.77.0.2/24 dev veth0
ip -n b link set lo up
ip -n b link set veth0 up

cd "$folder"
for name in a b; do
    OPENSSL_CONF=/dev/null openssl req -x509 -config /etc/ssl/openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
        -nodes -keyout $name.key -out $name.crt -subj "/CN=$name" -days 1 2>/dev/null
done

host() { # NAME OTHER OPENSSL-CONFIGURATION LOCAL REMOTE LOCAL-INNER REMOTE-INNER ROLE PREFIX...
    cat >"$1.conf" <<END
dev tun0
ifconfig $6 $7
tun-mtu 1400
proto udp4
local $4
remote $5
$8
ca $2.crt
cert $1.crt
key $1.key
dh none
data-ciphers $cipher
# In userland, whatever the kernel has: its own data channel knows no OpenSSL.
disable-dco
verb 4
END
    name=$1 conf=$3
    shift 8
    OPENSSL_CONF=$conf "$@" openvpn --config "$name.conf" >"$name.log" 2>&1 &
}

host a b "$conf_a" 10.77.0.1 10.77.0.2 10.78.0.1 10.78.0.2 tls-client
host b a "$conf_b" 10.77.0.2 10.77.0.1 10.78.0.2 10.78.0.1 tls-server nsenter --net=/run/netns/b
tries=0
for name in a b; do
    until grep -q 'Initialization Sequence Completed' $name.log; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { cat ./?.log >&2; exit 1; }
        sleep 0.05
    done
done
grep -h 'Data Channel: cipher' a.log b.log >&2

nsenter --net=/run/netns/b python3 "$file" serve 10.78.0.2 sent &
server=$!
python3 "$file" fetch 10.78.0.2 10.78.0.1 came
wait "$server"
python3 "$file" serve 10.78.0.1 came &
server=$!
nsenter --net=/run/netns/b python3 "$file" fetch 10.78.0.1 10.78.0.2 back >&2
wait "$server"
