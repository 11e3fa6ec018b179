import { z } from 'zod'

const TIMEOUT_MS = 5_000
const healthSchema = z.object({
  status: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
})

interface Addressed {
  name: string
  url: string
}

/** Whether a process says that it is ready, and that nothing it depends on is unavailable. */
export async function isReady(url: string): Promise<boolean> {
  const response = await askHealth(url)
  return healthSchema.safeParse(await response.json()).data?.status === 'ready'
}

/** One line for people: whether a process responds, and which of its dependencies are unavailable. */
export async function describeHealth({ name, url }: Addressed): Promise<string> {
  try {
    const response = await askHealth(url)
    const health = healthSchema.safeParse(await response.json())
    const states = Object.entries(health.data?.dependencies ?? {})
    const unavailable = states.flatMap(([dependency, state]) => (state === 'up' ? [] : [dependency]))
    return `  ${name}: ${unavailable.length > 0 ? `${unavailable.join(', ')} unavailable` : 'responds'}`
  } catch {
    return `  ${name}: does not respond at ${url}`
  }
}

function askHealth(url: string): Promise<Response> {
  return fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(TIMEOUT_MS) })
}
