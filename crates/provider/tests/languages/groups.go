// An end of TLS that is not OpenSSL's, with chosen groups: `serve PORT CERTIFICATE KEY GROUPS` answers each connection with the
// number of its group, and `ask PORT CERTIFICATE GROUPS` prints it. GROUPS are numbers with commas, the preferred first.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

func main() {
	address := "127.0.0.1:" + os.Args[2]
	var config tls.Config
	config.MinVersion = tls.VersionTLS12
	for _, group := range strings.Split(os.Args[len(os.Args)-1], ",") {
		number, err := strconv.Atoi(group)
		check(err)
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(number))
	}
	if os.Args[1] == "serve" {
		pair, err := tls.LoadX509KeyPair(os.Args[3], os.Args[4])
		check(err)
		config.Certificates = []tls.Certificate{pair}
		listener, err := tls.Listen("tcp", address, &config)
		check(err)
		for {
			connection, err := listener.Accept()
			check(err)
			go answer(connection)
		}
	}
	pem, err := os.ReadFile(os.Args[3])
	check(err)
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(pem)
	config.ServerName = "localhost"
	connection, err := tls.Dial("tcp", address, &config)
	check(err)
	_, err = io.WriteString(connection, "GET / HTTP/1.0\r\n\r\n")
	check(err)
	page, _ := io.ReadAll(connection)
	fmt.Printf("group %d\n%s", connection.ConnectionState().CurveID, page)
}

func answer(connection net.Conn) {
	defer connection.Close()
	over := connection.(*tls.Conn)
	if over.Handshake() != nil {
		return
	}
	line := make([]byte, 4096)
	over.Read(line)
	fmt.Fprintf(over, "HTTP/1.0 200 OK\r\n\r\ngroup %d\n", over.ConnectionState().CurveID)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
