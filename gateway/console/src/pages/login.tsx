import { useEffect, useState } from 'preact/hooks'
import { call, logIn } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Failure, Icon } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { navigate, usePlace } from '../router.ts'

type Mode = 'login' | 'register' | 'invitation'

const TITLES: Record<Mode, string> = {
  login: 'Log in',
  register: 'Create a workspace',
  invitation: 'Accept the invitation',
}

interface Input {
  name: string
  email: string
  phone: string
  password: string
  namespace: string
}

const NOTHING: Input = { name: '', email: '', phone: '', password: '', namespace: '' }

const emailInAddress = (): string => {
  const behind = decodeURIComponent(location.hash.slice(1))
  return behind.includes('@') ? behind : ''
}

/**
 * Logs in (whose email is behind the `#` of `/console/login` has it filled in), registers a workspace, or accepts the
 * invitation whose token is behind the `#` of `/console/invitation`.
 */
export function LoginPage() {
  const { path } = usePlace()
  const [token] = useState(() => (path === '/invitation' ? location.hash.slice(1) : ''))
  const [mode, setMode] = useState<Mode>(token === '' ? 'login' : 'invitation')
  const [input, setInput] = useState<Input>({ ...NOTHING, email: path === '/login' ? emailInAddress() : '' })
  const title = TITLES[mode]
  useEffect(() => {
    document.title = `${title} · Parley`
  }, [title])
  const set = (field: keyof Input) => (value: string) => setInput((before) => ({ ...before, [field]: value }))
  const { busy, error, submit } = useSubmit(async () => {
    await enter(mode, input, token)
    if (path === '/invitation' || path === '/login') navigate('/', { replace: true })
  })
  return (
    <main class="login" id="main">
      <div class="login-box">
        <p class="logo">
          <Icon name="logo" /> Parley
        </p>
        <h1>{title}</h1>
        <form onSubmit={submit}>
          {mode !== 'login' && (
            <TextField
              label="Your name"
              value={input.name}
              onChange={set('name')}
              autocomplete="name"
              required
            />
          )}
          {mode !== 'invitation' && (
            <TextField
              {...{ label: 'Email', type: 'email', autocomplete: 'username', required: true }}
              value={input.email}
              onChange={set('email')}
            />
          )}
          {mode === 'register' && (
            <>
              <TextField
                {...{ label: 'Phone', type: 'tel', autocomplete: 'tel', required: true }}
                value={input.phone}
                onChange={set('phone')}
              />
              <TextField
                {...{ label: 'Workspace', required: true, note: 'A short name, such as your company’s' }}
                value={input.namespace}
                onChange={set('namespace')}
              />
            </>
          )}
          <TextField
            {...{ label: 'Password', type: 'password', required: true }}
            autocomplete={mode === 'login' ? 'current-password' : 'new-password'}
            value={input.password}
            onChange={set('password')}
          />
          <Failure error={error} />
          <Button type="submit" kind="primary" disabled={busy}>
            {title}
          </Button>
        </form>
        {mode !== 'invitation' && (
          <p class="login-switch">
            {mode === 'login' ? 'New here? ' : 'You have an account? '}
            <button
              type="button"
              class="link"
              onClick={() => setMode(mode === 'login' ? 'register' : 'login')}
            >
              {mode === 'login' ? TITLES.register : TITLES.login}
            </button>
          </p>
        )}
      </div>
    </main>
  )
}

async function enter(mode: Mode, input: Input, token: string): Promise<void> {
  const { name, email, phone, password, namespace } = input
  let username = email
  if (mode === 'register')
    await call('POST', '/api/auth/register', { body: { name, email, phone, password, namespace } })
  if (mode === 'invitation') {
    const body = { token, name, password }
    username = (await call<{ username: string }>('POST', '/api/auth/accept-invitation', { body })).username
  }
  await logIn({ username, password })
}
