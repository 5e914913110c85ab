package top

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/recent"
	"qsniff/internal/app/cli"
	"qsniff/internal/base/sandbox"
)

// settingsFile is the file of settings, in the folder that ReadSettings returns.
const settingsFile = "top.toml"

// ReadSettings returns the folder of settings, which it makes if that is asked for, and the settings in it. remark
// is why there are none, where there should be.
func ReadSettings(makes bool) (folder, text, remark string) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", "", ""
	}
	folder = filepath.Join(folder, "qsniff")
	if makes {
		_ = os.MkdirAll(folder, 0o700) // if it fails, Save returns the error
	}
	text, err = cli.ReadFile(filepath.Join(folder, settingsFile), cli.LongestConfig, "file of settings")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		remark = settingsFile + ": " + err.Error()
	}
	return folder, text, remark
}

// Save writes settings to a new file in a folder, which replaces the old one.
func (s *Settings) Save(folder string) error {
	if folder == "" {
		return errors.New("settings are not kept: there is no folder for them ($XDG_CONFIG_HOME)")
	}
	if err := sandbox.ReplaceFile(filepath.Join(folder, settingsFile), []byte(s.Text())); err != nil {
		return fmt.Errorf("settings are not kept: %w", err)
	}
	return nil
}

// WritePackets writes packets to a new file in the current folder, and returns its name.
func WritePackets(packets recent.Packets, application string) (string, error) {
	stem := "qsniff-top-" + time.Now().Format("20060102-150405")
	for n := 1; ; n++ {
		name := stem + ".pcapng"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.pcapng", stem, n)
		}
		w, err := file.Create(name, file.WriteOptions{Application: application})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		for i := range packets {
			if err := w.Write(&packets[i].Packet); err != nil {
				return "", cmp.Or(err, w.Close())
			}
		}
		return name, w.Close()
	}
}
