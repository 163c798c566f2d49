package driver

// Wake powers the device on and runs ANE_Init.
func (d *Device) Wake() error {
	_, err := d.hold(nil, "wake", d.hw.ensure)
	return err
}
