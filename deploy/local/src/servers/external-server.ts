import { SetupError } from '../setup-error.ts'
import type { Server, ServerPlan } from './server.ts'

/** A server named by its URL in the environment. It is somebody else's: checked, never started or stopped. */
export function planExternalServer(options: {
  name: string
  variable: string
  url: string
  /** Throws what is wrong with it. */
  check(url: string): Promise<void>
}): ServerPlan {
  const { name, variable, url, check } = options
  return {
    packages: [],
    prepare: async () => undefined,
    start: async () => {
      await check(url).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        throw new SetupError(
          `${variable} names no ${name} that can be used (${reason}). Start that server, correct ${variable}, ` +
            'or unset it to have one started.',
        )
      })
      return externalServer({ name, variable, url })
    },
  }
}

function externalServer(options: { name: string; variable: string; url: string }): Server {
  return {
    name: options.name,
    url: options.url,
    source: options.variable,
    pid: undefined,
    exited: new Promise(() => undefined),
    restart: async () => {
      throw new Error(`${options.name} comes from ${options.variable} and is not ours to restart`)
    },
    stop: async () => undefined,
  }
}
