// npm run kubernetes -- render: writes .local/kubernetes and the settings in values.schema.json. By helm, which is fetched where there is none.
// npm run kubernetes -- secrets [--mongo URL] [--amqp URL] [--redis URL] [--management URL]: writes the Secrets of .env,
//   which it makes when there is none, to .local/kubernetes-secrets.yaml; without URLs for the servers of examples/servers.yaml.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'
import { CHECKOUT, STATE_DIRECTORY } from '@parley/local/checkout'
import { makeSecrets, writeAtomically } from '@parley/local/system/secrets'
import { stringify } from 'yaml'
import { composeEnvironment, environmentFile } from '../../docker/compose-environment.ts'
import { findHelm } from './find-helm.ts'
import { renderAll, writeRendered } from './render.ts'
import { kubernetesSecrets } from './secrets.ts'
import { readSchema, withSettings, writeSchema } from './settings-schema.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    mongo: { type: 'string', default: 'mongodb://parley-mongodb-svc:27017/?replicaSet=parley-mongodb' },
    amqp: { type: 'string', default: 'amqp://parley-rabbitmq:5672' },
    redis: { type: 'string', default: 'redis://parley-redis:6379' },
    management: { type: 'string', default: 'http://parley-rabbitmq:15672' },
  },
})
const commands: Record<string, () => void | Promise<void>> = { render, secrets }
const command = commands[positionals[0] ?? '']
if (command === undefined) throw new Error('Which one: npm run kubernetes -- render, or -- secrets?')
await command()

async function render(): Promise<void> {
  writeSchema(withSettings(readSchema()))
  writeRendered(await renderAll(await findHelm()))
  console.log('.local/kubernetes and the settings in values.schema.json are up to date')
}

function secrets(): void {
  const environment = join(CHECKOUT, '.env')
  if (!existsSync(environment))
    writeAtomically(environment, environmentFile(composeEnvironment(makeSecrets())))
  const env = parseEnv(readFileSync(environment, 'utf8')) as Record<string, string>
  const file = join(STATE_DIRECTORY, 'kubernetes-secrets.yaml')
  mkdirSync(STATE_DIRECTORY, { recursive: true })
  writeAtomically(
    file,
    kubernetesSecrets(env, values)
      .map((secret) => stringify(secret))
      .join('---\n'),
  )
  console.log(`Made ${file} from ${environment}. Back up .env: without it, stored data can not be read.`)
}
