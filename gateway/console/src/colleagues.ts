import { call } from './api.ts'
import { useLoad } from './load.ts'

interface Colleague {
  _id: number
  name: string
}

/** Those to whom a conversation can be assigned; none until they are known. */
export function useColleagues(): Colleague[] {
  const { data } = useLoad('colleagues', async (signal) => {
    const { data } = await call<{ data: Colleague[] }>('GET', '/api/auth/colleagues', { signal })
    return data
  })
  return data ?? []
}
