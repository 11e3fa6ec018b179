import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ContainerRuntimeClient } from 'testcontainers'
import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'
import type { Server, ServerContext, ServerPlan } from './server.ts'

const READY_MS = 90_000
const STOP_MS = 15_000
const TIMEOUT_MS = 5_000

interface ContainerOptions {
  name: string
  image: string
  port: number
  engine: Engine
  context: ServerContext
}

interface ContainerSettings {
  url: string
  command: string[]
  /** The folder under `docker/` with its data, and where the container sees it. */
  data: { folder: string; target: string }
  files: { target: string; content: string }[]
  isReady(): Promise<boolean>
}

/** A server in a container. Its data is stored apart from that of other sources, whose versions differ. */
export function planContainer(
  options: ContainerOptions,
  settings: () => Promise<ContainerSettings>,
): ServerPlan {
  return {
    packages: [],
    prepare: () => pull(options),
    start: async () => startContainer(options, await settings()),
  }
}

async function pull({ name, image, engine, context }: ContainerOptions): Promise<void> {
  const { ImageName } = await import('testcontainers')
  const imageName = ImageName.fromString(image)
  if (await engine.image.exists(imageName)) return
  context.signal.throwIfAborted()
  context.say(`Pulling ${image} …`)
  await engine.image.pull(imageName).catch(failWith(`Docker could not pull ${image} for ${name}`))
}

async function startContainer(options: ContainerOptions, settings: ContainerSettings): Promise<Server> {
  const { name, image, engine, context } = options
  context.signal.throwIfAborted()
  const container = await runContainer(options, settings).catch(failWith(`Docker could not start ${name}`))
  const stop = async () => void (await container.stop({ timeout: STOP_MS, removeVolumes: true }))
  const ready = () => waitUntil(settings.isReady, { timeoutMs: READY_MS, signal: context.signal })
  try {
    if (!(await ready())) throw new SetupError(`${name} in Docker (${image}) did not get ready`)
  } catch (error) {
    await stop()
    throw error
  }
  const ended = async () => void (await engine.container.getById(container.getId()).wait())
  let exited = ended()
  return {
    name,
    url: settings.url,
    source: `Docker (${image})`,
    pid: undefined,
    stop,
    get exited() {
      return exited
    },
    isReady: settings.isReady,
    restart: async () => {
      await container.restart({ timeout: STOP_MS })
      if (!(await ready())) throw new Error(`${name} did not get ready again`)
      exited = ended()
    },
  }
}

async function runContainer({ context, image, port }: ContainerOptions, settings: ContainerSettings) {
  const { LoopbackContainer } = await import('./loopback-container.ts')
  const { command, data, files } = settings
  const source = join(context.directory, 'docker', data.folder)
  await mkdir(source, { recursive: true })
  return (
    new LoopbackContainer({ image, port })
      // RabbitMQ's data belongs to a node name, which contains the host's name.
      .withHostname('parley')
      .withCommand(command)
      .withBindMounts([{ source, target: data.target }])
      .withCopyContentToContainer(files)
      .withStartupTimeout(READY_MS)
      .start()
  )
}

function failWith(what: string): (error: unknown) => never {
  return (error) => {
    throw new SetupError(`${what}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

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
