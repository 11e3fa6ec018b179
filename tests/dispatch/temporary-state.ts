import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isReady } from '@parley/local/demo/running-system'
import { startReaper } from '@parley/local/processes/owned'
import type { System } from '@parley/local/system/start-system'

interface TemporaryState {
  directory: string
  /** Has something stopped with the rest, before what was started earlier. */
  stopLater(stop: () => Promise<unknown>): void
}

/**
 * Starts something whose state is in a temporary directory, and answers with it and with what stops all of it and
 * deletes the state; both are also done when the start fails, or this process is killed.
 */
export async function inTemporaryState<T extends object>(
  name: string,
  start: (state: TemporaryState) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), `parley-${name}-`))
  const reaper = startReaper({ directory, remove: true })
  const stops: Array<() => Promise<unknown>> = [() => reaper.close()]
  const stop = async () => {
    for (const each of stops.toReversed()) await each()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    return { ...(await start({ directory, stopLater: (each) => void stops.push(each) })), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Whether every copy of every service says that it, and all that it depends on, is ready. */
export async function areReady({ processes }: System): Promise<boolean> {
  const services = Object.values(processes).filter(({ metricsUrl }) => metricsUrl !== undefined)
  return (await Promise.all(services.map(({ url }) => isReady(url)))).every(Boolean)
}
