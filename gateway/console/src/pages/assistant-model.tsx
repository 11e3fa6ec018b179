import type { Schemas } from '@parley/client'
import { MODEL_PROVIDERS } from '@parley/shared/provider-addresses'
import { useId, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { PasswordField, SelectField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import { costOf } from '../messages.ts'
import { InputError } from '../problems.ts'
import { keyConfig, type ModelForm, modelConfig, type Setup, settingsOf } from '../setup/setup-form.ts'
import { reasonOf } from '../words.ts'

const NAMES: Record<string, string> = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  google: 'Google',
}
/** Models that the field offers; any other name can be typed. */
const SUGGESTED: Record<string, readonly string[]> = {
  openai: ['gpt-5-mini', 'gpt-5'],
  anthropic: ['claude-sonnet-4-5', 'claude-haiku-4-5'],
  google: ['gemini-2.5-flash', 'gemini-2.5-pro'],
}
const providers = () => [
  { value: '', name: t('The model of this deployment') },
  ...MODEL_PROVIDERS.map((value) => ({ value, name: NAMES[value] ?? t('OpenAI-compatible server') })),
]

/** Which model answers, and its key, which is stored and never shown. */
export function AssistantModel(props: {
  model: ModelForm
  there: Setup
  onChange(model: ModelForm): void
  /** Saves the page; returns the assistant's id. */
  save(): Promise<number>
  isWritable: boolean
}) {
  const { model, there, onChange, save, isWritable } = props
  const { provider } = model
  const [tested, setTested] = useState<Schemas['Trial']>()
  const list = useId()
  const test = async () => {
    setTested(undefined)
    const id = await save()
    const body = { type: 'chat', messages: [{ role: 'person', text: t('Hello') }] }
    const path = `/rest/assistant/${id}/try`
    const trial = await call<Schemas['Trial'] | Schemas['Problem']>('POST', path, { body, patient: true })
    // A trial that takes long has begun its answer with 200 before it fails.
    if ('title' in trial) throw new InputError(trial.detail ?? trial.title, [])
    setTested(trial)
  }
  const choose = (chosen: string) =>
    onChange({ ...model, provider: chosen, model: SUGGESTED[chosen]?.[0] ?? '', baseUrl: '' })
  return (
    <Card title={t('Model')}>
      <fieldset class="bare pair" disabled={!isWritable}>
        <SelectField label={t('Provider')} value={provider} options={providers()} onChange={choose} />
        {provider !== '' && (
          <>
            <TextField
              label={t('Model')}
              value={model.model}
              onChange={(name) => onChange({ ...model, model: name })}
              required
              list={list}
            />
            <datalist id={list}>
              {(SUGGESTED[provider] ?? []).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
            {(provider === 'openai-compatible' || model.baseUrl !== '') && (
              <TextField
                label={t('Address of its API')}
                type="url"
                value={model.baseUrl}
                onChange={(baseUrl) => onChange({ ...model, baseUrl })}
                required={provider === 'openai-compatible'}
              />
            )}
            <PasswordField
              label={t('Key')}
              note={
                keyConfig(there) === undefined
                  ? t('It is sealed, and goes to this provider only.')
                  : isForThis(model, there)
                    ? t('A key is stored. Leave this empty to go on with it.')
                    : t('The key that is stored goes to where it was before only: give the one for this.')
              }
              value={model.key}
              onChange={(key) => onChange({ ...model, key })}
              autocomplete="new-password"
              required={false}
            />
          </>
        )}
      </fieldset>
      {isWritable ? (
        <div class="actions">
          <Button onClick={test}>
            {provider === '' ? t('Save and test the model') : t('Save and test the key')}
          </Button>
        </div>
      ) : (
        <p class="note">{t('Your role may not change all of this, or not read it.')}</p>
      )}
      {tested && <Tested trial={tested} />}
    </Card>
  )
}

/** True if the stored key belongs to the provider and origin at which this model is asked. */
function isForThis({ provider, baseUrl }: ModelForm, there: Setup): boolean {
  const stored = settingsOf(modelConfig(there))
  const originOf = (url: unknown) => URL.parse(String(url ?? ''))?.origin
  return stored.provider === provider && originOf(stored.baseUrl) === originOf(baseUrl)
}

function Tested({ trial: { state, reason, turns } }: { trial: Schemas['Trial'] }) {
  return (
    <div role="status">
      <p class="line">
        <Badge tone={state === 'done' ? 'good' : 'bad'}>
          {state === 'done' ? t('working') : t('failing')}
        </Badge>
        {state === 'done' ? costOf(turns) : reason && reasonOf(reason)}
      </p>
    </div>
  )
}
