import { createHash, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const USER = 'parley'

export interface BrokerSettings {
  user: string
  password: string
  /** The text of rabbitmq.conf. */
  configuration: string
  /** The text of the definitions that it loads at its start. */
  definitions: string
}

/** The settings of a private broker. Its password is made once and stored in `directory`. */
export async function readBrokerSettings(options: {
  directory: string
  vhosts: string[]
  /** Where the broker itself will find the definitions. */
  definitionsPath: string
}): Promise<BrokerSettings> {
  const password = await readPassword(join(options.directory, 'password'))
  return {
    user: USER,
    password,
    configuration: [
      `load_definitions = ${options.definitionsPath}`,
      'vm_memory_high_watermark.absolute = 1GB',
      'disk_free_limit.absolute = 50MB',
      'log.file.level = warning',
      '',
    ].join('\n'),
    definitions: JSON.stringify(definitions(password, ['/', ...options.vhosts]), null, 2),
  }
}

async function readPassword(file: string): Promise<string> {
  const stored = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f]{48}$/.test(stored)) return stored
  const password = randomBytes(24).toString('hex')
  await writeFile(file, password, { mode: 0o600 })
  return password
}

function definitions(password: string, vhosts: string[]) {
  return {
    users: [
      {
        name: USER,
        password_hash: hashPassword(password),
        hashing_algorithm: 'rabbit_password_hashing_sha256',
        tags: ['administrator'],
      },
    ],
    vhosts: vhosts.map((name) => ({ name })),
    permissions: vhosts.map((vhost) => ({ user: USER, vhost, configure: '.*', write: '.*', read: '.*' })),
  }
}

/** RabbitMQ's form: salt, then SHA-256 over salt and password. */
function hashPassword(password: string): string {
  const salt = randomBytes(4)
  const hash = createHash('sha256').update(salt).update(password).digest()
  return Buffer.concat([salt, hash]).toString('base64')
}
