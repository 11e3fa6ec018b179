import { GenericContainer } from 'testcontainers'

/** A container whose one port is reached on 127.0.0.1 only, under the same number inside and outside. */
export class LoopbackContainer extends GenericContainer {
  constructor(options: { image: string; port: number }) {
    super(options.image)
    this.withExposedPorts({ container: options.port, host: options.port })
    this.hostConfig.PortBindings = {
      [`${options.port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: String(options.port) }],
    }
  }
}
