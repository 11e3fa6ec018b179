import { z } from 'zod'

const ANSWER_MS = 5_000
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

/** One line for people: whether a process answers, and which of its dependencies are away. */
export async function describeHealth({ name, url }: Addressed): Promise<string> {
  try {
    const response = await askHealth(url)
    const health = healthSchema.safeParse(await response.json())
    const states = Object.entries(health.data?.dependencies ?? {})
    const away = states.flatMap(([dependency, state]) => (state === 'up' ? [] : [dependency]))
    return `  ${name}: ${away.length > 0 ? `${away.join(', ')} not reached` : 'answers'}`
  } catch {
    return `  ${name}: does not answer at ${url}`
  }
}

function askHealth(url: string): Promise<Response> {
  return fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(ANSWER_MS) })
}
