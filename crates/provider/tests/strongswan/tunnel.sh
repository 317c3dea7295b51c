#!/bin/sh
# A tunnel of strongSwan's between two hosts, with ESP in userland, and a file through it.
# Arguments: FOLDER PROPOSAL CONFIGURATION-OF-A CONFIGURATION-OF-B. FOLDER/sent goes from b to a, where it is
# written to FOLDER/came. Prints the seconds of the transfer.
#
# To be run by `unshare --net --mount --pid --fork --kill-child`: all that is made here goes with it.
set -eu
folder=$1 proposal=$2 conf_a=$3 conf_b=$4

mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/netns

ip link set lo up
ip netns add b
ip link add veth0 type veth peer name veth0 netns b
ip address add 10.77.0.1/24 dev veth0
ip address add 10.78.1.1/32 dev lo
ip link set veth0 up
ip -n b address add 10.77.0.2/24 dev veth0
ip -n b address add 10.78.2.1/32 dev lo
ip -n b link set lo up
ip -n b link set veth0 up

host() { # NAME OPENSSL-CONFIGURATION LOCAL REMOTE LOCAL-NETWORK REMOTE-NETWORK PREFIX...
    name=$1 conf=$2
    cat >"$folder/$1.strongswan.conf" <<END
charon {
    # The openssl plugin alone has ciphers, MACs and hashes.
    load = openssl nonce kdf kernel-libipsec kernel-netlink socket-default vici
    plugins {
        vici { socket = unix://$folder/$1.vici }
        openssl { load_legacy = no }
    }
    filelog { log { path = $folder/$1.log } }
}
swanctl { load = openssl }
END
    cat >"$folder/$1.swanctl.conf" <<END
connections { tunnel {
    version = 2
    proposals = aes128-sha256-modp2048
    local_addrs = $3
    remote_addrs = $4
    local { auth = psk
        id = $3 }
    remote { auth = psk
        id = $4 }
    children { net {
        local_ts = $5
        remote_ts = $6
        esp_proposals = $proposal
    } }
} }
secrets { ike { secret = "not much of one" } }
END
    shift 6
    # /run holds the number of the charon that runs: each has one of its own.
    OPENSSL_CONF=$conf STRONGSWAN_CONF=$folder/$name.strongswan.conf \
        "$@" unshare --mount sh -c 'mount -t tmpfs tmpfs /run && exec /usr/lib/ipsec/charon' \
        >"$folder/$name.out" 2>&1 &
}

swanctl_of() { # NAME ARGUMENTS
    name=$1
    shift
    OPENSSL_CONF=/dev/null STRONGSWAN_CONF=$folder/$name.strongswan.conf \
        swanctl "$@" --uri "unix://$folder/$name.vici" >>"$folder/$name.swanctl" 2>&1
}

until_listening() { # NAME
    tries=0
    until [ -S "$folder/$1.vici" ] && swanctl_of "$1" --stats; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || { cat "$folder/$1.out" "$folder/$1.log" >&2; exit 1; }
        sleep 0.05
    done
}

host a "$conf_a" 10.77.0.1 10.77.0.2 10.78.1.1/32 10.78.2.1/32
host b "$conf_b" 10.77.0.2 10.77.0.1 10.78.2.1/32 10.78.1.1/32 nsenter --net=/run/netns/b
for name in a b; do
    until_listening "$name"
    swanctl_of "$name" --load-all --file "$folder/$name.swanctl.conf"
done
swanctl_of a --initiate --child net --timeout 20 || { cat "$folder/a.swanctl" "$folder"/?.log >&2; exit 1; }
# Nothing else can reach that address: there is no route to it outside the tunnel.
nsenter --net=/run/netns/b python3 "$(dirname "$0")/file.py" serve 10.78.2.1 "$folder/sent" &
server=$!
python3 "$(dirname "$0")/file.py" fetch 10.78.2.1 10.78.1.1 "$folder/came"
wait "$server"
swanctl_of a --list-sas
tail -12 "$folder/a.swanctl" >&2
