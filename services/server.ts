// Several services in one process: SERVICES=all, or names of some, separated by commas.
import { serveTogether } from '@parley/shared/serve'
import { services } from './app.ts'

const names = services.map(({ name }) => name)
const { SERVICES = '' } = process.env
const asked = SERVICES === 'all' ? names : SERVICES.split(',').map((name) => name.trim())
const unknown = asked.filter((name) => !names.some((known) => known === name))
if (unknown.length > 0) {
  console.error(`SERVICES: must be all, or some of ${names.join(',')}`)
  process.exit(1)
}
await serveTogether(services.filter(({ name }) => asked.includes(name)))
