// Makes the .env that docker-compose.yml reads, with new secrets; to one that is there it adds the passwords and keys that it lacks.
//   npm run compose:env
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets, writeAtomically } from '@parley/local/system/secrets'
import { addMissing, composeEnvironment, environmentFile } from './compose-environment.ts'

const file = join(CHECKOUT, '.env')

if (existsSync(file)) {
  const { text, added } = addMissing(readFileSync(file, 'utf8'))
  if (added.length > 0) writeAtomically(file, text)
  console.log(
    added.length > 0
      ? `Added to ${file}: ${added.join(', ')}. Everything else in it is as it was.`
      : `${file} is there already, with all passwords and keys. What runs with it needs its secrets: move it away to make new ones.`,
  )
} else {
  writeAtomically(file, environmentFile(composeEnvironment(makeSecrets())))
  console.log(
    `Made ${file}. Look at BASE_DOMAIN and PUBLIC_URL in it, then: docker compose up --build --wait`,
  )
}
