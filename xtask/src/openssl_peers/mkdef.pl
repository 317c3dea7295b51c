#! /usr/bin/env perl
# Stands in for util/mkdef.pl of OpenSSL, which the package of its source leaves out: prints the version
# script of a shared library for GNU ld, from the list of its symbols (name, number, version, state).
use strict;
use warnings;
use Getopt::Long qw(:config pass_through);

GetOptions('ordinals=s' => \my $ordinals, 'name=s' => \my $name) or die;
open my $list, '<', $ordinals or die "$ordinals: $!";
my %symbols;
while (<$list>) {
    my ($symbol, undef, $version, $state) = split;
    next unless defined $state && $state =~ /^EXIST:/;
    $version =~ s/_/./g;
    push @{ $symbols{$version} }, $symbol;
}
my $order = sub { join '.', map { sprintf '%04s', $_ } split /\./, shift };
my $before = '';
for my $version (sort { $order->($a) cmp $order->($b) } keys %symbols) {
    my $node = $version eq '*' ? '' : "OPENSSL_$version ";
    print "$node\{\n    global:\n", map { "        $_;\n" } sort @{ $symbols{$version} };
    print "    local: *;\n" if $before eq '';
    print "}$before;\n";
    $before = " $node";
}
