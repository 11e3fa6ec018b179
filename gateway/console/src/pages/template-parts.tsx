import type { TemplateParts, TemplateRules } from '@parley/shared/providers/templates'
import { Button } from '../components/actions.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { t, translated } from '../language.ts'

type Header = NonNullable<TemplateParts['header']>['type']
type PartButton = TemplateParts['buttons'][number]

const HEADERS: { value: Header | ''; name: string }[] = [
  { value: '', name: t('None') },
  { value: 'text', name: t('Text') },
  { value: 'image', name: t('Image') },
  { value: 'video', name: t('Video') },
  { value: 'document', name: t('Document') },
  { value: 'location', name: t('Place') },
]
const BUTTONS: { value: PartButton['type']; name: string }[] = [
  { value: 'quick_reply', name: t('Quick reply') },
  { value: 'url', name: t('Link') },
  { value: 'phone_number', name: t('Call') },
  { value: 'copy_code', name: t('Copy a code') },
]
const VALUES: Partial<Record<PartButton['type'], { label: string; note?: string }>> = {
  url: { label: t('Address'), note: t("May end with '{{1}}'") },
  phone_number: { label: t('Number') },
}
const MOST_BUTTONS = 10
const MEDIA = ['image', 'video', 'document']

interface PartsProps {
  parts: TemplateParts
  rules: TemplateRules
  onChange(parts: TemplateParts): void
}

/** The fields of a template's parts, and of an example for each of its placeholders. */
export function TemplatePartsFields({ parts, rules, onChange }: PartsProps) {
  const { header, body, footer, examples } = parts
  const set = (change: Partial<TemplateParts>) => onChange({ ...parts, ...change })
  const setExample = (key: string, value: string) => set({ examples: { ...examples, [key]: value } })
  const setHeader = (type: string) => {
    const { header: _before, ...rest } = parts
    onChange(type === '' ? rest : { ...rest, header: { type: type as Header, text: header?.text ?? '' } })
  }
  const setButtons = (buttons: TemplateParts['buttons']) =>
    // Examples are by the place of their button.
    set(buttons.length < parts.buttons.length ? { buttons, examples: withoutButtons(examples) } : { buttons })
  const open = rules.fieldsOf(rules.ofParts(parts)).filter(({ type }) => type === 'text')
  return (
    <>
      <SelectField label={t('Header')} value={header?.type ?? ''} options={HEADERS} onChange={setHeader} />
      {header?.type === 'text' && (
        <TextField
          label={t('Header’s text')}
          note={t('Up to 60 characters, with one placeholder at most')}
          value={header.text}
          onChange={(text) => set({ header: { ...header, text } })}
          required
        />
      )}
      {header && MEDIA.includes(header.type) && (
        <TextField
          label={t('Handle of an example')}
          note={t('Of a file that was uploaded to the provider')}
          value={examples['header.link'] ?? ''}
          onChange={(value) => setExample('header.link', value)}
        />
      )}
      <AreaField
        label={t('Text')}
        note={t("Up to 1,024 characters; '{{1}}', '{{2}}' or '{{first_name}}' is filled in for each person")}
        rows={6}
        value={body}
        onChange={(value) => set({ body: value })}
        required
      />
      <TextField
        label={t('Footer')}
        value={footer}
        onChange={(value) => set({ footer: value })}
        required={false}
      />
      <ButtonFields buttons={parts.buttons} onChange={setButtons} />
      {open.map(({ key, label }) => (
        <TextField
          key={key}
          label={t('Example: {label}', { label: translated(label) })}
          value={examples[key] ?? ''}
          onChange={(value) => setExample(key, value)}
          required
        />
      ))}
    </>
  )
}

const withoutButtons = (examples: TemplateParts['examples']): TemplateParts['examples'] =>
  Object.fromEntries(Object.entries(examples).filter(([key]) => !key.startsWith('button.')))

function ButtonFields({
  buttons,
  onChange,
}: {
  buttons: TemplateParts['buttons']
  onChange(buttons: TemplateParts['buttons']): void
}) {
  const change = (at: number, part: Partial<PartButton>) =>
    onChange(buttons.map((one, index) => (index === at ? { ...one, ...part } : one)))
  return (
    <fieldset class="field">
      <legend>{t('Buttons')}</legend>
      {buttons.map(({ type, text, value }, at) => (
        <div key={at} class="inline">
          <SelectField
            label={t('Button {at}', { at: at + 1 })}
            value={type}
            options={BUTTONS}
            onChange={(next) => change(at, { type: next as PartButton['type'] })}
          />
          {type !== 'copy_code' && (
            <TextField
              label={t('Says')}
              value={text}
              onChange={(next) => change(at, { text: next })}
              required
            />
          )}
          {VALUES[type] && (
            <TextField
              {...VALUES[type]}
              value={value}
              onChange={(next) => change(at, { value: next })}
              required
            />
          )}
          <Button
            small
            label={t('Remove button {at}', { at: at + 1 })}
            onClick={() => onChange(buttons.filter((_, index) => index !== at))}
          >
            {t('Remove')}
          </Button>
        </div>
      ))}
      {buttons.length < MOST_BUTTONS && (
        <Button small onClick={() => onChange([...buttons, { type: 'quick_reply', text: '', value: '' }])}>
          {t('Add a button')}
        </Button>
      )}
    </fieldset>
  )
}
