// Command oidc is the provider that people sign in at in tests: Dex, with its store in memory, one client and two people. It prints
// the issuer's address, and ends when standard input does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	gosundheit "github.com/AppsFlyer/go-sundheit"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/session"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	redirect := flag.String("redirect", "", "address that people are led back to")
	secret := flag.String("secret", "", "the client's secret; without it, a public client")
	validFor := flag.Duration("valid-for", time.Hour, "how long ID tokens are valid")
	flag.Parse()
	if err := run(*listen, *redirect, *secret, *validFor); err != nil {
		fmt.Fprintln(os.Stderr, "oidc:", err)
		os.Exit(1)
	}
}

func run(address, redirect, secret string, validFor time.Duration) error {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	issuer := "http://" + listener.Addr().String() + "/dex"
	store := memory.New(logger)
	client := storage.Client{
		ID: "rollcast", Name: "Rollcast", Secret: secret, Public: secret == "", RedirectURIs: []string{redirect},
	}
	if err := store.CreateClient(ctx, client); err != nil {
		return err
	}
	// Their password is "password".
	hash, err := bcrypt.GenerateFromPassword([]byte("password"), bcrypt.MinCost+6)
	if err != nil {
		return err
	}
	people := []storage.Password{
		{Email: "ann@example.com", Username: "ann", UserID: "ann", Groups: []string{"team", "system:masters"}},
		{Email: "bob@example.com", Username: "bob", UserID: "bob"},
	}
	for _, person := range people {
		person.Hash = hash
		if err := store.CreatePassword(ctx, person); err != nil {
			return err
		}
	}
	local := storage.Connector{ID: connectors.LocalConnector, Type: connectors.LocalConnector, Name: "Email"}
	store = storage.WithStaticConnectors(store, []storage.Connector{local})
	keys := signer.LocalConfig{KeysRotationPeriod: "6h"}
	signs, err := keys.Open(ctx, store, validFor, time.Now, logger)
	if err != nil {
		return err
	}
	dex, err := server.NewServer(ctx, server.Config{
		Issuer:             issuer,
		Storage:            store,
		Logger:             logger,
		Signer:             signs,
		SkipApprovalScreen: true,
		IDTokensValidFor:   validFor,
		// A refresh token is good once.
		RefreshTokenPolicy: tokens.NewRefreshStrategy(true, 0, 0, 0, time.Now),
		SessionConfig: &session.Config{
			CookieName: "dex", AbsoluteLifetime: time.Hour, ValidIfNotUsedFor: time.Hour,
		},
		PrometheusRegistry: prometheus.NewRegistry(),
		HealthChecker:      gosundheit.New(),
	})
	if err != nil {
		return err
	}
	fmt.Println(issuer)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, dex)
}
