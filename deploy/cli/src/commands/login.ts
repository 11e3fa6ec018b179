import { text } from 'node:stream/consumers'
import { createParley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { SessionTokens } from '@parley/client/session'
import type { Command } from 'commander'
import { isGatewayUrl, URL_EXAMPLES, url as urlArgument } from '../arguments.ts'
import { askAtTerminal } from '../ask-at-terminal.ts'
import { EXIT, Failure } from '../failure.ts'
import { paint, printable, say, sayJson } from '../output.ts'
import { profilePath, readProfile, removeProfile, writeProfile } from '../profile.ts'
import { roleInWords } from '../role-in-words.ts'

interface Options {
  url?: string
  user?: string
  namespace?: string
  passwordStdin?: true
  tokenStdin?: true
  json?: true
}

const LOCAL_URL = 'http://127.0.0.1:8080'

export function addLogin(program: Command): void {
  program
    .command('login')
    .description('log in and store the session for the other commands; asks for what is left out')
    .option('--url <url>', "the gateway's address", urlArgument)
    .option('--user <email>', 'the user name')
    .option('--namespace <slug>', 'the workspace, where the user is in several')
    .option('--password-stdin', 'read the password from standard input')
    .option('--token-stdin', 'read an API token from standard input, in place of user and password')
    .action(logIn)
}

export function addLogout(program: Command): void {
  program.command('logout').description('end the session and remove what login stored').action(logOut)
}

/** Ends the stored session where it was begun, whatever `PARLEY_URL` says. What is stored stays until it has ended. */
async function logOut({ json }: { json?: true }): Promise<void> {
  const profile = readProfile()
  const refreshToken = profile?.session?.refreshToken
  if (profile !== undefined && refreshToken !== undefined) {
    const { api } = createParley({ url: profile.url })
    await succeeded(api.POST('/api/auth/logout', { body: { refreshToken } }))
  }
  removeProfile()
  if (json) sayJson({ loggedOut: true })
  else say('Logged out.')
}

async function logIn(options: Options): Promise<void> {
  const { json } = options
  const gateway =
    options.url ?? process.env.PARLEY_URL ?? (await ask(`Address [${LOCAL_URL}]: `, '--url')) ?? ''
  if (gateway !== '' && !isGatewayUrl(gateway))
    throw new Failure(`${gateway} is not the address of a gateway. ${URL_EXAMPLES}`, EXIT.usage)
  const url = urlArgument(gateway || LOCAL_URL)
  const profile = {
    url,
    ...(options.tokenStdin ? { token: await standardInput() } : { session: await begin(url, options) }),
  }
  const me = await succeeded(createParley(profile).api.POST('/api/auth/me', { body: {} }))
  writeProfile(profile)
  const { username, role, workspace } = me
  if (json)
    return sayJson({ url, username, role: role.name, workspace: workspace.host, profile: profilePath() })
  const [name = '', words = '', host = ''] = [username, roleInWords(role.name), workspace.host].map(printable)
  say(`Logged in as ${paint('bold', name)}, ${words} in ${paint('bold', host)}.`)
  say(paint('dim', `Stored in ${profilePath()}`))
}

async function begin(url: string, { user, namespace, passwordStdin }: Options): Promise<SessionTokens> {
  const username = user ?? (await ask('User: ', '--user'))
  const password = passwordStdin
    ? await standardInput()
    : await ask('Password: ', '--password-stdin', { hidden: true })
  const body = { username, password, ...(namespace && { namespace }) }
  return succeeded(createParley({ url }).api.POST('/api/auth/login', { body }))
}

/** The first line of standard input. */
async function standardInput(): Promise<string> {
  const [line = ''] = (await text(process.stdin)).split(/\r?\n/, 1)
  if (line === '') throw new Failure('Standard input is empty.', EXIT.usage)
  return line
}

/** Asks at the terminal. Throws a Failure that names the option where there is none, or no reply. */
async function ask(question: string, option: string, { hidden = false } = {}): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Failure(`${option} is missing, and there is no terminal to ask at.`, EXIT.usage)
  const line = await askAtTerminal(question, { hidden })
  if (line === undefined) throw new Failure(`${option} is missing, and nothing was typed.`, EXIT.usage)
  return line
}
