// Makes the .env that docker-compose.yml reads, with new secrets.
//   npm run compose:env
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets } from '@parley/local/system/secrets'
import { writeAtomically } from '@parley/local/write-atomically'
import { composeEnvironment } from './compose-environment.ts'

const file = join(CHECKOUT, '.env')

if (existsSync(file)) {
  console.error(
    `${file} is there already. What runs with it needs its secrets: move it away to make new ones.`,
  )
  process.exit(1)
}
// Single quotes: nothing in a value is expanded.
const lines = Object.entries(composeEnvironment(makeSecrets())).map(([name, value]) => `${name}='${value}'`)
writeAtomically(file, `${lines.join('\n')}\n`)
console.log(`Made ${file}. Look at BASE_DOMAIN and PUBLIC_URL in it, then: docker compose up --build --wait`)
