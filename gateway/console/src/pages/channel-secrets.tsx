import { providerNamed } from '@parley/shared/providers/registry'
import type { Setting } from '@parley/shared/providers/setting'
import { useState } from 'preact/hooks'
import { Button, Dialog, FormEnd, notify } from '../components/actions.tsx'
import { Card } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { t, translated } from '../language.ts'
import type { Document } from '../resources.ts'
import type { Hook } from './channel-hook.tsx'

interface SecretsProps {
  channel: Document
  hook: Hook | undefined
  /** Changes a part of the config, of the version that is shown only. */
  onChange(part: object): Promise<void>
}

/** Replaces the secrets of a channel one by one; none is shown. */
export function ChannelSecrets({ channel, hook, onChange }: SecretsProps) {
  const [replacing, setReplacing] = useState<Setting>()
  const config = (channel.config ?? {}) as Record<string, unknown>
  const providers = new Set([channel.hook, channel.callback].flatMap((name) => providerNamed(name) ?? []))
  const secrets = [...providers].flatMap(({ settings }) => settings.filter(({ isSecret }) => isSecret))
  const own = Array.isArray(config.signingSecrets) ? config.signingSecrets : []
  const current = own[0] ?? hook?.signingSecret?.value
  // Null says that there is none; until the hook is there, it is not known.
  const canRotate = current !== undefined || hook?.signingSecret === null
  const rotate = async () => {
    // The one before stays until the next rotation, so that receivers can change over.
    await onChange({ signingSecrets: [newSigningSecret(), ...(current ? [current] : [])] })
    notify(t('New signing secret; the one before goes on working until the next rotation.'))
  }
  return (
    <Card title={t('Secrets')}>
      <ul class="rows">
        {secrets.map((secret) => (
          <li key={secret.key}>
            <div class="grow">
              <p class="line">
                {translated(secret.label)}{' '}
                <span class="quiet">{config[secret.key] ? t('is set') : t('is not set')}</span>
              </p>
              <p class="note">{translated(secret.replacing ?? secret.note)}</p>
            </div>
            <Button
              small
              label={t('Replace the {label}', { label: translated(secret.label).toLowerCase() })}
              onClick={() => setReplacing(secret)}
            >
              {config[secret.key] ? t('Replace') : t('Set')}
            </Button>
          </li>
        ))}
        <li>
          <div class="grow">
            <p class="line">{t('Signing secret')}</p>
            <p class="note">{t('With it requests to handlers and endpoints are signed.')}</p>
          </div>
          <Button small label={t('Rotate the signing secret')} disabled={!canRotate} onClick={rotate}>
            {t('Rotate')}
          </Button>
        </li>
      </ul>
      {replacing && (
        <ReplaceDialog
          name={translated(replacing.label)}
          onClose={() => setReplacing(undefined)}
          onReplace={(value) => onChange({ [replacing.key]: value })}
        />
      )}
    </Card>
  )
}

interface ReplaceProps {
  name: string
  onClose(): void
  onReplace(value: string): Promise<void>
}

function ReplaceDialog({ name, onClose, onReplace }: ReplaceProps) {
  const [value, setValue] = useState('')
  const { busy, error, submit } = useSubmit(async () => {
    await onReplace(value)
    notify(t('{name} is replaced.', { name }))
    onClose()
  })
  return (
    <Dialog title={t('Replace: {name}', { name })} onClose={onClose}>
      <form onSubmit={submit}>
        <TextField
          label={t('New {name}', { name: name.toLowerCase() })}
          type="password"
          value={value}
          onChange={setValue}
          required
        />
        <FormEnd action={t('Replace')} busy={busy} error={error} />
      </form>
    </Dialog>
  )
}

const SECRET_BYTES = 32

function newSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return `whsec_${btoa(String.fromCharCode(...bytes))}`
}
