package outbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/base/display"
	"qsniff/internal/fleet"
)

// Codes of errors of JetStream that the library has no names for.
const (
	codeNoStorage   = 10047 // insufficient storage resources available
	codeNoResources = 10023 // insufficient resources
	codeStoreFailed = 10077 // the stream or its store refused it, for want of room as well
)

// isFinal reports whether the broker will not take a message, however often it gets it.
func isFinal(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || codeOf(err) == jetstream.JSErrCodeStreamMessageExceedsMaximum
}

// codeOf returns the code of an error of JetStream, 0 of others.
func codeOf(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	var js jetstream.JetStreamError
	if errors.As(err, &js) && js.APIError() != nil {
		return js.APIError().ErrorCode
	}
	return 0
}

// wordsFor returns an error in words for people: what is wrong, and what to do about it.
func (o *Outbox) wordsFor(err error) string {
	for _, words := range []func(error) string{o.wordsForRights, wordsForStream, wordsForTLS, wordsForNetwork} {
		if text := words(err); text != "" {
			return text
		}
	}
	return string(display.AppendVisible(nil, []byte(err.Error()))) // parts of it are the broker's
}

// wordsForRights is about who the sensor is, and what it may do.
func (o *Outbox) wordsForRights(err error) string {
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Sprintf("permission denied: the credentials must allow to publish to %s.%s.> and to subscribe to %s.>",
			o.opt.Prefix, o.opt.Sensor, fleet.InboxPrefix(o.opt.Sensor))
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return "the broker refuses the credentials: they have expired"
	case errors.Is(err, nats.ErrAuthRevoked):
		return "the broker refuses the credentials: they were revoked"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrNkeysNotSupported):
		if o.who.login == nil {
			return "the broker wants credentials: --fleet-creds FILE has them"
		}
		return "the broker refuses the credentials"
	}
	return ""
}

// wordsForStream is about what takes messages at the broker.
func wordsForStream(err error) string {
	switch code := codeOf(err); {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders), code == jetstream.JSErrCodeStreamNotFound:
		return "the broker has no stream for the messages: qsniff-hub makes it"
	case code == jetstream.JSErrCodeJetStreamNotEnabled, code == jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return "the broker has no JetStream for these credentials"
	case code == codeNoStorage, code == codeNoResources, code == codeStoreFailed:
		return "the broker has no room for the messages"
	case errors.Is(err, nats.ErrMaxPayload), code == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return "the broker takes no messages of this size"
	}
	return ""
}

// wordsForTLS is about certificates.
func wordsForTLS(err error) string {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "nobody that is trusted has signed the certificate of the broker: --fleet-ca FILE names who may"
	case errors.As(err, &other):
		return "the certificate of the broker is for another name"
	case errors.As(err, &invalid):
		return "the certificate of the broker is not valid: it has expired, or is not for servers"
	case errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &header):
		return "the broker does not encrypt, which tls:// and --fleet-ca ask for"
	case errors.Is(err, nats.ErrSecureConnRequired):
		return "the broker wants an encrypted connection: tls://"
	}
	return ""
}

// wordsForNetwork is about the way to the broker.
func wordsForNetwork(err error) string {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "no server of names has the name of the broker"
	case errors.As(err, &name):
		return "no server of names answers"
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, syscall.ECONNREFUSED):
		return "no broker listens there"
	case errors.Is(err, errCut), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, nats.ErrStaleConnection), errors.Is(err, nats.ErrDisconnected):
		return "the connection was cut"
	case errors.Is(err, errNoAck), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return ""
}
