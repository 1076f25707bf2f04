package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validFor is the life of every certificate here: longer than any test cluster, short enough to be harmless.
const validFor = 30 * 24 * time.Hour

type signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// writeCertificates fills dir with ca.crt, ca.key, server.crt, server.key, admin.crt, admin.key and the
// service account key pair service-account.key / service-account.pub.
func writeCertificates(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	authority, err := issue(dir, "ca", nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "rollcast-test-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return err
	}
	if _, err := issue(dir, "server", authority, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}, gateways()...),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}); err != nil {
		return err
	}
	// system:masters is bound to cluster-admin by the API server itself.
	if _, err := issue(dir, "admin", authority, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return err
	}
	return writeServiceAccountKeys(dir)
}

// gateways are the addresses of this machine on the bridges of real nodes.
func gateways() []net.IP {
	var all []net.IP
	for number := byte(0); number < 8; number++ {
		all = append(all, net.IPv4(10, 77, number, 1))
	}
	return all
}

func issue(dir, name string, by *signer, template *x509.Certificate) (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validFor)
	if by == nil {
		by = &signer{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(dir, name+".key"), "PRIVATE KEY", encoded); err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return &signer{certificate: certificate, key: key}, nil
}

func writeServiceAccountKeys(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	private := x509.MarshalPKCS1PrivateKey(key)
	if err := writePEM(filepath.Join(dir, "service-account.key"), "RSA PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, "service-account.pub"), "PUBLIC KEY", public)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
