import { randomBytes } from 'node:crypto'
import { publicKeys, type Secrets } from '@parley/local/system/secrets'

const PASSWORD_BYTES = 24

/** Every variable that docker-compose.yml asks for: the secrets, and the settings to look at. */
export function composeEnvironment(secrets: Secrets): Record<string, string> {
  const password = () => randomBytes(PASSWORD_BYTES).toString('hex')
  const keys = Object.entries(secrets.serviceKeys).map(
    ([name, key]) => [`${name.toUpperCase()}_KEY`, JSON.stringify(key)] as const,
  )
  return {
    PORT: '8080',
    BASE_DOMAIN: 'parley.localhost',
    PUBLIC_URL: 'http://127.0.0.1:8080',
    LOG_LEVEL: 'info',
    RABBITMQ_PASSWORD: password(),
    REDIS_PASSWORD: password(),
    GRAFANA_PASSWORD: password(),
    PEPPERS: secrets.peppers,
    KEY_ENCRYPTION_KEYS: secrets.keyEncryptionKeys,
    SECRET_KEYS: secrets.secretKeys,
    SIGNING_SECRET: secrets.signingSecret,
    SERVICE_JWKS: JSON.stringify(publicKeys(secrets)),
    ...Object.fromEntries(keys),
  }
}
