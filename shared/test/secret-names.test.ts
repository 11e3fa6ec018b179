import { describe, expect, test } from '@jest/globals'
import { areHeaders, isCredentialsName, secretByName } from '@parley/shared/secret-names'

describe('a name of free-form settings', () => {
  test.each([
    // The settled names, however they are written.
    ...[
      'accessToken',
      'access_token',
      'ACCESS-TOKEN',
      'appSecret',
      'verifyToken',
      'signingSecrets',
      'apiKey',
    ],
    ...[
      'api_key',
      'APIKEY',
      'Api Key',
      'credentials',
      'Credentials',
      'password',
      'PASSWORD',
      'token',
      'secret',
    ],
  ])('%s makes all under it a secret', (name) => expect(secretByName(name)).toBe('all'))

  test.each([
    ...[
      'passwd',
      'passphrase',
      'pwd',
      'db_password',
      'DB_PASSWORD',
      'dbPassword',
      'userpassword',
      'passwordHash',
    ],
    ...['smtpPass', 'password2', 'senha', 'oldPassword', 'passwordCurrent'],
  ])('%s makes texts and numbers secrets', (name) => expect(secretByName(name)).toBe('scalars'))

  test.each([
    ...[
      'authorization',
      'Authorization',
      'Proxy-Authorization',
      'authorizationHeader',
      'auth',
      'cookie',
      'Set-Cookie',
    ],
    ...[
      'cookies',
      'bearer',
      'bearerToken',
      'X-API-KEY',
      'x-api-key',
      'xApiKey',
      'X_Api_Key',
      'xapikey',
      'X-Key',
    ],
    ...[
      'OPENAI_API_KEY',
      'openaiApiKey',
      'apiKey2',
      'apiKeyProd',
      'API_KEYS',
      'privateKey',
      'private_key',
      'PRIVATEKEY',
    ],
    ...[
      'accessKey',
      'aws_secret_access_key',
      'secretKey',
      'signingKey',
      'signatureKey',
      'encryptionKey',
      'hmacKey',
    ],
    ...[
      'client_secret',
      'CLIENTSECRET',
      'webhookSecret',
      'secrets',
      'sessionToken',
      'refreshtoken',
      'SLACK_TOKEN',
      'tokens',
    ],
    ...[
      'Ocp-Apim-Subscription-Key',
      'connectionString',
      'jwt',
      'awsCredentials',
      'GOOGLE_CREDENTIALS',
      'authToken_live',
    ],
  ])('%s makes texts secrets', (name) => expect(['texts', 'all']).toContain(secretByName(name)))

  test.each([
    ...[
      'maxOutputTokens',
      'max_tokens',
      'dailyTokens',
      'dailyTokensPerPerson',
      'historyTokens',
      'inputTokens',
    ],
    ...[
      'outputTokens',
      'promptTokens',
      'stopToken',
      'tokenType',
      'token_type',
      'tokenizer',
      'tokenUrl',
      'tokenLimit',
    ],
    ...[
      'secretary',
      'secretaryName',
      'passwordMinLength',
      'passwordPolicy',
      'passwordResetUrl',
      'passenger',
      'bypass',
    ],
    ...[
      'key',
      'keys',
      'publicKey',
      'primaryKey',
      'accessKeyId',
      'keyboard',
      'monkey',
      'cookiePolicy',
      'author',
      'authority',
    ],
    ...[
      'authorizationUrl',
      'assistantId',
      'streamResponseBy',
      'phoneNumberId',
      'apiUrl',
      'callbackUrl',
      'typing',
    ],
    ...[
      'fallbackMessage',
      'handlerTimeoutSeconds',
      'provider',
      'model',
      'baseUrl',
      'temperature',
      'vision',
      'fallbacks',
    ],
    ...['', '__proto__', 'constructor', '•', 'x'.repeat(100_000)],
  ])('%.40s makes nothing a secret', (name) => expect(secretByName(name)).toBeUndefined())
})

test.each([
  ...['headers', 'Headers', 'requestHeaders', 'default_headers'].map((name) => [name, true] as const),
  ...['header', 'headersCount', 'headline'].map((name) => [name, false] as const),
])('%s is for headers: %s', (name, are) => expect(areHeaders(name)).toBe(are))

test.each([
  ...[
    'credentials',
    'CREDENTIALS',
    'openai_CREDENTIALS',
    'OPENAI_CREDENTIALS',
    'openai-compatible_credentials',
  ].map((name) => [name, true] as const),
  ...['credential', 'credentialsOf', 'model', '', 7].map((name) => [name, false] as const),
])('a config named %s has credentials: %s', (name, has) => expect(isCredentialsName(name)).toBe(has))
