import type { SlotKey } from '@parley/shared/fair-slots'
import { isDuplicate } from '@parley/shared/insert-new'
import { ACCESS_TOKEN } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { route } from '@parley/shared/openapi/route'
import { DEFAULT_ROLES } from '@parley/shared/permission/entry'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { Connection, mongo } from 'mongoose'
import { z } from 'zod'
import { adminCheckOf } from '../access/privileges.ts'
import { emailAddress, label, newPassword, usernameKey } from '../accounts/user-fields.ts'
import type { Passwords, StoredPassword } from '../passwords/passwords.ts'
import { AUTH_BODY_BYTES, EXAMPLE_PASSWORD, id, NO_STORE, times, timesExample } from '../schemas.ts'
import { issueAccessToken, sessionTokens, tokensExample } from '../sessions/tokens.ts'
import type { KeyRing } from '../signing-keys/key-ring.ts'
import { type Account, accountExample, accountView } from '../store/account.ts'
import { type Collections, ID_ONLY } from '../store/collections.ts'
import { type CounterDocument, takeIds } from '../store/ids.ts'
import { type Role, versionOf } from '../store/role.ts'
import { newSession, type Session } from '../store/session.ts'
import { type Workspace, workspaceExample, workspaceSchema, workspaceView } from '../store/workspace.ts'
import { addressOf } from '../throttles.ts'

// A DNS label has 63 characters; the rest is left for a number.
const MAX_LETTERS = 48
const FALLBACK = 'workspace'
const MAX_NUMBERED = 20
/** Names below the domain that people take for the operator's own, or that mail and browsers give a meaning. */
const RESERVED = new Set(
  [
    'abuse account accounts admin administrator api app apps assets auth autoconfig autodiscover billing blog',
    'cdn console dashboard dev docs gateway help hostmaster identity imap internal localhost login mail',
    'metrics mta-sts mx noreply ns ns1 ns2 oauth parley pop postmaster private root security smtp sso staff',
    'staging static status support system test webhook webhooks webmaster wpad www',
  ].flatMap((line) => line.split(' ')),
)

const MAX_TRIES = 10

interface RegisterDependencies {
  connection: Connection
  collections: Collections
  passwords: Pick<Passwords, 'hash'>
  keyRing: Pick<KeyRing, 'signingKey'>
  baseDomain: string
  minPasswordLength: number
}

/** A password has at least `min` characters. */
const registration = (min: number) =>
  z.strictObject({
    name: label,
    email: emailAddress,
    phone: z.string(),
    password: newPassword(min),
    namespace: label,
  })

const account = z.object({
  _id: id,
  provider: z.string().describe('The authentication provider'),
  username: z.string().describe('The email, exactly as it was sent'),
  passwordHash: z.string().describe('Returned once, here; of no use without a key that is stored elsewhere'),
  salt: z.string(),
  name: z.string(),
  profile: id,
  ...times,
  context: jsonObject,
})
const { accessToken, expiresAt } = tokensExample

/** Makes account, workspace and roles, and logs the new user in. */
export const registerRoute = route({
  method: 'POST',
  path: '/api/auth/register',
  access: 'nothing',
  id: 'register',
  tag: 'accounts',
  summary: 'Register',
  description: 'Makes an account, a workspace of its own and its roles. A bearer token is not looked at.',
  body: {
    schema: registration(1).meta({ id: 'Registration' }),
    example: {
      name: 'Ana Souza',
      email: 'ana@example.com',
      phone: '+5511999990000',
      password: EXAMPLE_PASSWORD,
      namespace: 'acme',
    },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z
      .object({
        _id: id,
        account,
        role: id,
        workspace: workspaceSchema,
        ...times,
        ...sessionTokens.pick({ accessToken: true, expiresAt: true }).shape,
      })
      .meta({ id: 'RegisteredUser', description: 'A new user, the first of a workspace of their own' }),
    example: {
      _id: 1,
      account: { ...accountExample, passwordHash: '$2b$12$…', salt: '$2b$12$…', context: {} },
      role: 1,
      workspace: workspaceExample,
      ...timesExample,
      accessToken,
      expiresAt,
    },
    headers: NO_STORE,
  },
  errors: ['email_taken'],
  handle: (dependencies: RegisterDependencies) => {
    const body = registration(dependencies.minPasswordLength)
    return async (req, res) => {
      const { password, ...user } = parse(body, req.body)
      const registered = await register(dependencies, { user, password, by: [addressOf(req)] })
      const { account, session } = registered
      const issued = await issueAccessToken(dependencies.keyRing, {
        account: account._id,
        session: session._id,
      })
      res.set('cache-control', 'no-store').json({ ...registeredView(registered), ...issued })
    }
  },
})

type NewUserFields = Parameters<typeof planRegistration>[0]['user']

async function register(
  { connection, collections, passwords, baseDomain }: RegisterDependencies,
  { user, password, by }: { user: NewUserFields; password: string; by: SlotKey },
): Promise<Registered> {
  const taken = () => new Problem('email_taken')
  // Spares the hash; the unique index decides.
  if (await collections.accounts.findOne({ usernameKey: usernameKey(user.email) }, ID_ONLY)) throw taken()
  const stored = await passwords.hash(password, by)
  const ids = await takeRegistrationIds(collections)
  const sessionMs = ACCESS_TOKEN.seconds * 1000
  for (let tries = 1; ; tries++) {
    const slug = await freeSlug(collections, user.namespace)
    const registered = planRegistration({ user, password: stored, slug, baseDomain, ids, sessionMs })
    try {
      await storeRegistration(connection, collections, registered)
      return registered
    } catch (error) {
      if (isDuplicate(error, 'usernameKey')) throw taken()
      if (!isDuplicate(error, 'slug') || tries === MAX_TRIES) throw error
    }
  }
}

/** The body that a new user sends. */
interface NewUser {
  name: string
  email: string
  phone: string
  namespace: string
}

/** All that comes into being with a registration. */
interface Registered {
  account: Account
  workspace: Workspace
  roles: Role[]
  session: Session
}

interface Plan {
  user: NewUser
  password: StoredPassword
  slug: string
  baseDomain: string
  ids: Record<'accounts' | 'profiles' | 'workspaces' | 'roles', number>
  sessionMs: number
}

/** Takes the ids for one registration. */
function takeRegistrationIds(collections: Pick<Collections, 'counters'>): Promise<Plan['ids']> {
  const amounts = { accounts: 1, profiles: 1, workspaces: 1, roles: DEFAULT_ROLES.length }
  return takeIds({ counters: collections.counters, from: 'ids', amounts })
}

/** The documents of a new user: a workspace of their own, its four roles, and a first session. */
function planRegistration({ user, password, slug, baseDomain, ids, sessionMs }: Plan): Registered {
  const now = new Date()
  const stamps = { createdAt: now, updatedAt: now }
  const roles = DEFAULT_ROLES.map(({ name, permissions }, at) => {
    const entries = permissions.map((entry) => ({ ...entry }))
    const named = { _id: ids.roles + at, workspace: ids.workspaces, name, version: 1 }
    const role = { ...named, permissions: entries, ...stamps }
    return { ...role, adminCheck: adminCheckOf(role) }
  })
  const workspace = {
    _id: ids.workspaces,
    name: user.namespace,
    namespace: user.namespace,
    slug,
    host: `${slug}.${baseDomain}`,
    status: 'active',
    context: {},
    ...stamps,
  }
  const account = {
    _id: ids.accounts,
    provider: 'local',
    username: user.email,
    usernameKey: usernameKey(user.email),
    ...password,
    name: user.name,
    phone: user.phone,
    profile: ids.profiles,
    workspace: ids.workspaces,
    role: ids.roles,
    context: {},
    ...stamps,
  }
  return { account, workspace, roles, session: newSession(account._id, sessionMs) }
}

/** Stores all of it or nothing; throws the database's duplicate error when email or slug is taken. */
function storeRegistration(
  connection: Connection,
  collections: Collections,
  { account, workspace, roles, session }: Registered,
): Promise<void> {
  return inTransaction(connection, async (transaction) => {
    const options = { session: transaction }
    await collections.accounts.insertOne(account, options)
    await collections.workspaces.insertOne(workspace, options)
    await collections.roles.insertMany(roles, options)
    await collections.roleVersions.insertMany(roles.map(versionOf), options)
    await collections.sessions.insertOne(session, options)
  })
}

/** The answer to a registration. */
function registeredView({ account, workspace }: Registered) {
  return {
    _id: account._id,
    account: accountView(account),
    role: account.role,
    workspace: workspaceView(workspace),
    createdAt: account.createdAt,
    updatedAt: account.updatedAt,
  }
}

/** The DNS label that a namespace asks for: letters without their accents, digits, and single hyphens. */
export function slugOf(namespace: string): string {
  const letters = namespace
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LETTERS + 1)
    .replace(/^-/, '')
    .slice(0, MAX_LETTERS)
    .replace(/-$/, '')
  return letters === '' ? FALLBACK : letters
}

/**
 * A slug for `namespace` that no workspace has: the plain one, else the next number (`acme`, `acme-2`); a reserved name
 * always gets a number.
 * Another registration may still take it first; the unique index has the last word.
 */
async function freeSlug(
  collections: { workspaces: mongo.Collection<Workspace>; counters: mongo.Collection<CounterDocument> },
  namespace: string,
): Promise<string> {
  const base = slugOf(namespace)
  let slug = base
  for (let tries = 0; tries < MAX_NUMBERED; tries++) {
    if (!RESERVED.has(slug) && (await collections.workspaces.findOne({ slug }, ID_ONLY)) === null) return slug
    const { number } = await takeIds({
      counters: collections.counters,
      from: `slug/${base}`,
      amounts: { number: 1 },
    })
    slug = `${base}-${number + 1}`
  }
  return slug
}
