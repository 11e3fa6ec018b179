import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createParley } from '@parley/client'
import { listen } from '@parley/local/testing/service-under-test'
import { connect } from '../src/profile.ts'
import { type CliWorld, type Somebody, somebody, startCliWorld, USER } from './cli-world.ts'

let world: CliWorld
let ana: Somebody
beforeAll(async () => {
  world = await startCliWorld()
})
afterAll(() => world.close(), 60_000)
const { XDG_CONFIG_HOME: ownFolder = '' } = process.env
afterEach(() => {
  process.env.XDG_CONFIG_HOME = ownFolder
  ana.remove()
})

const profileOf = ({ folder }: Somebody) => join(folder, 'parley/profile.json')
const logInAs = (who: Somebody) =>
  who.run(['login', '--url', world.system.url, '--user', USER.username, '--password-stdin'], {
    input: `${USER.password}\n`,
  })

/** The access token is refused from now on, as it is after 15 minutes. */
function endAccessToken(who: Somebody): void {
  const { session, ...stored } = JSON.parse(readFileSync(profileOf(who), 'utf8'))
  const accessToken = session.accessToken.replace(/[^.]*$/, 'ended')
  writeFileSync(profileOf(who), JSON.stringify({ ...stored, session: { ...session, accessToken } }))
}

/** The client of a command of theirs that begins now, until the end of the test. */
function connectedAs({ folder }: Somebody) {
  process.env.XDG_CONFIG_HOME = folder
  return connect()
}

describe('parley login', () => {
  test('stores a session that only its user can read, without the password', async () => {
    ana = somebody()
    const { code, stdout } = await logInAs(ana)
    expect([code, stdout.split('\n')[0]]).toEqual([
      0,
      'Logged in as ana@example.com, workspace admin in acme.parley.test.',
    ])
    expect(statSync(profileOf(ana)).mode & 0o777).toBe(0o600)
    expect(statSync(join(ana.folder, 'parley')).mode & 0o777).toBe(0o700)
    expect(readFileSync(profileOf(ana), 'utf8')).not.toContain(USER.password)
    expect((await ana.run(['check'])).stdout).toBe('Nothing is wrong.\n')
  })

  test('asks at a terminal for what is left out, and does not show the password', async () => {
    ana = somebody()
    const { code, screen } = await ana.atTerminal(
      ['login'],
      [
        ['Address', world.system.url],
        ['User:', USER.username],
        ['Password:', USER.password],
      ],
    )
    expect(screen).toContain('Logged in as')
    expect([code, screen.includes(USER.password)]).toEqual([0, false])
    expect(screen).toContain('\u001b[1m')
  })

  test('without a terminal names the option that is missing', async () => {
    ana = somebody()
    const { code, stderr } = await ana.run(['login', '--url', world.system.url])
    expect([code, stderr]).toEqual([2, 'error: --user is missing, and there is no terminal to ask at.\n'])
  })

  test('a wrong password ends with 3 and stores nothing', async () => {
    ana = somebody()
    const args = ['login', '--url', world.system.url, '--user', USER.username, '--password-stdin']
    const { code, stderr } = await ana.run(args, { input: 'wrong password' })
    expect([code, stderr.split('\n')[0]]).toEqual([
      3,
      'error: The user name or the password is wrong. Log in with parley login.',
    ])
    expect(() => statSync(profileOf(ana))).toThrow()
  })

  test('takes an API token in place of a user, and PARLEY_URL with PARLEY_TOKEN in place of both', async () => {
    ana = somebody()
    const body = { name: 'ci', role: 'WORKSPACE_ADMIN' }
    const { data } = await world.client.api.POST('/api/auth/tokens', { body })
    const token = String(data?.token)
    expect(
      (await ana.run(['login', '--url', world.system.url, '--token-stdin'], { input: token })).code,
    ).toBe(0)
    expect((await ana.run(['check'])).code).toBe(0)
    expect((await ana.run(['check'], { env: { PARLEY_TOKEN: 'wrong' } })).code).toBe(3)
    const bob = somebody({ PARLEY_URL: world.system.url, PARLEY_TOKEN: token })
    expect((await bob.run(['check'])).code).toBe(0)
    bob.remove()
  })

  test('a session whose access token has ended is refreshed and stored anew', async () => {
    ana = somebody()
    await logInAs(ana)
    const stored = JSON.parse(readFileSync(profileOf(ana), 'utf8'))
    writeFileSync(
      profileOf(ana),
      JSON.stringify({ ...stored, session: { ...stored.session, accessToken: 'ended' } }),
    )
    expect((await ana.run(['check'])).code).toBe(0)
    const renewed = JSON.parse(readFileSync(profileOf(ana), 'utf8'))
    expect(renewed.session.refreshToken).not.toBe(stored.session.refreshToken)
    expect(renewed.session.accessToken).not.toBe('ended')
    expect(statSync(profileOf(ana)).mode & 0o777).toBe(0o600)
  })

  test('a command that runs for long goes on with a session that others have renewed, which stays theirs too', async () => {
    ana = somebody()
    await logInAs(ana)
    endAccessToken(ana)
    const long = connectedAs(ana)
    for (const _ of ['once', 'and again']) {
      expect((await ana.run(['check'])).code).toBe(0)
      endAccessToken(ana)
    }
    expect((await long.api.GET('/rest/check')).response.status).toBe(200)
    expect((await ana.run(['check'])).code).toBe(0)
  })

  test.each([
    ['another gateway', { url: 'https://parley.example.com', token: 'another' }],
    ['another session', undefined],
  ])('a command that runs for long does not put its session over that of %s', async (_name, other) => {
    ana = somebody()
    await logInAs(ana)
    endAccessToken(ana)
    const long = connectedAs(ana)
    await logInAs(ana)
    if (other !== undefined) writeFileSync(profileOf(ana), JSON.stringify(other))
    const stored = readFileSync(profileOf(ana), 'utf8')
    expect((await long.api.GET('/rest/check')).response.status).toBe(200)
    expect(readFileSync(profileOf(ana), 'utf8')).toBe(stored)
  })

  test('logout ends the session and removes it', async () => {
    ana = somebody()
    await logInAs(ana)
    expect((await ana.run(['logout'])).stdout).toBe('Logged out.\n')
    const { code, stderr } = await ana.run(['check'])
    expect([code, stderr]).toEqual([
      3,
      'error: You are not logged in. Run parley login, or set PARLEY_URL and PARLEY_TOKEN.\n',
    ])
  })
})

describe('parley logout', () => {
  test('ends the session where it was begun, whatever gateway and token the environment names', async () => {
    ana = somebody()
    await logInAs(ana)
    const { refreshToken } = JSON.parse(readFileSync(profileOf(ana), 'utf8')).session
    const seen: string[] = []
    const another = await listen((req, res) => {
      seen.push(`${req.url}`)
      res.end('{}')
    })
    const env = { PARLEY_URL: another.url, PARLEY_TOKEN: 'another' }
    expect((await ana.run(['logout'], { env })).stdout).toBe('Logged out.\n')
    await another.close()
    expect(seen).toEqual([])
    const body = { refreshToken }
    const { response } = await createParley({ url: world.system.url }).api.POST('/api/auth/refresh', { body })
    expect(response.status).toBe(401)
  })

  test('keeps what is stored, and says so, where the session could not be ended', async () => {
    ana = somebody()
    await logInAs(ana)
    const stored = JSON.parse(readFileSync(profileOf(ana), 'utf8'))
    const unavailable = await listen((_req, res) => res.writeHead(503).end())
    writeFileSync(profileOf(ana), JSON.stringify({ ...stored, url: unavailable.url }))
    const { code, stdout, stderr } = await ana.run(['logout'])
    await unavailable.close()
    expect([code, stdout]).toEqual([7, ''])
    expect(stderr).toContain('/api/auth/logout was refused: 503. Try again later.')
    expect(JSON.parse(readFileSync(profileOf(ana), 'utf8')).session).toEqual(stored.session)
  })
})

describe('parley', () => {
  test.each([
    [['sned'], "error: unknown command 'sned'\n(Did you mean send?)\n"],
    [['why'], "error: missing required argument 'what'\n(parley why --help shows all of it)\n"],
    [['tail', '--state', 'lost'], 'There is no "lost". Allowed are: received, handled, sending,'],
    [
      ['replay', '--from', 'yesterday'],
      'A time is like 2026-11-20T12:00:00Z, or 30m, 2h, 7d for so long ago.',
    ],
    [['send', '--phone', '1', '--text', 'x'], '--channel <extId> says which channel it goes through.'],
    [
      ['send', '--channel', 'c', '--phone', '1', '--template', 't'],
      '--language <code> belongs to a template',
    ],
    [['login', '--url', 'parley'], 'It looks like https://parley.example.com'],
    [['replay'], 'Give either one message id, or options that pick messages'],
    [['doctor', '--template', 't'], '--template needs --channel <extId>'],
  ])('%j ends with 2 and says what is right', async (args, text) => {
    ana = somebody()
    const { code, stdout, stderr } = await ana.run(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(text)
  })

  test.each([['login', '--token-stdin'], ['check']])(
    'an address in PARLEY_URL without its scheme ends %s with 2 and says what is right',
    async (...args) => {
      ana = somebody({ PARLEY_URL: 'parley.example.com:443', PARLEY_TOKEN: 't' })
      const { code, stderr } = await ana.run(args, { input: 'token' })
      expect([code, stderr]).toEqual([2, expect.stringContaining('It looks like https://parley.example.com')])
    },
  )

  test('without a gateway ends with 7, as JSON too', async () => {
    ana = somebody({ PARLEY_URL: 'http://127.0.0.1:1', PARLEY_TOKEN: 't' })
    const { code, stderr } = await ana.run(['why', 'x', '--json'])
    expect([code, JSON.parse(stderr)]).toMatchObject([7, { error: { exitCode: 7 } }])
  })

  test('whose response breaks off in its middle ends with 7', async () => {
    const breaking = await listen((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      res.write('{', () => res.destroy())
    })
    ana = somebody({ PARLEY_URL: breaking.url, PARLEY_TOKEN: 't' })
    const { code, stderr } = await ana.run(['replay', 'some-message'])
    await breaking.close()
    expect([code, stderr]).toEqual([7, expect.stringContaining('Parley can not be reached')])
  })

  test('ends with 7 where something else than Parley responds', async () => {
    const another = await listen((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
    })
    ana = somebody({ PARLEY_URL: another.url, PARLEY_TOKEN: 't' })
    const { code, stderr } = await ana.run(['check'])
    await another.close()
    expect([code, stderr]).toEqual([7, expect.stringContaining('Is the address right?')])
  })

  test('help names every command and exit code', async () => {
    ana = somebody()
    const { code, stdout } = await ana.run(['--help'])
    expect(code).toBe(0)
    for (const name of [
      'login',
      'send',
      'tail',
      'why',
      'replay',
      'export',
      'import',
      ...['people', 'segments', 'templates', 'campaigns'],
      'check',
      'doctor',
      'completion',
    ])
      expect(stdout).toContain(`\n  ${name} `)
    expect(stdout).toContain('   7  Parley can not be reached')
  })

  test('completes commands and options in bash', async () => {
    ana = somebody()
    const { stdout } = await ana.run(['completion', 'bash'])
    const complete = (words: string[]) =>
      spawnSync('bash', [
        '-c',
        `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _parley; echo "\${COMPREPLY[@]}"`,
      ]).stdout.toString()
    expect(complete(['parley', 're'])).toBe('replay\n')
    expect(complete(['parley', 'doctor', '--te'])).toBe('--template\n')
    expect(complete(['parley', 'campaigns', 'est'])).toBe('estimate\n')
    expect(complete(['parley', 'campaigns', 'list', '--st'])).toBe('--state\n')
    for (const shell of ['zsh', 'fish'])
      expect((await ana.run(['completion', shell])).stdout).toContain('parley')
  })
})
