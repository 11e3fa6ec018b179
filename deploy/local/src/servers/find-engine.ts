import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ContainerRuntimeClient } from 'testcontainers'

const TIMEOUT_MS = 5_000

/** A Docker engine (or one that speaks its language) on this machine. */
export type Engine = ContainerRuntimeClient

/** The engine that responds within 5 s, if there is one whose containers are reached on this machine. */
export async function findEngine(): Promise<Engine | undefined> {
  if (!mayHaveEngine()) return undefined
  const { getContainerRuntimeClient } = await import('testcontainers')
  const none = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), TIMEOUT_MS).unref())
  const engine = await Promise.race([getContainerRuntimeClient().catch(() => undefined), none])
  return engine && ['localhost', '127.0.0.1'].includes(engine.info.containerRuntime.host) ? engine : undefined
}

/** Looking for a socket first spares loading the library where there can't be an engine. */
function mayHaveEngine(): boolean {
  const sockets = [
    '/var/run/docker.sock',
    join(process.env.XDG_RUNTIME_DIR ?? '/run', 'docker.sock'),
    join(process.env.XDG_RUNTIME_DIR ?? '/run', 'podman/podman.sock'),
    join(homedir(), '.docker/run/docker.sock'),
    join(homedir(), '.docker/desktop/docker.sock'),
    join(homedir(), '.colima/default/docker.sock'),
  ]
  return process.env.DOCKER_HOST !== undefined || sockets.some((socket) => existsSync(socket))
}
