import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { DeleteButton, LinkButton, notify } from '../components/actions.tsx'
import { Badge, Card, Fact, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { TemplateView } from '../components/template-view.tsx'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { mayAll } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import {
  examplesOf,
  providerOf,
  shownTemplate,
  type Template,
  type TemplateChannel,
  type TemplateProvider,
  templateChannels,
  toneOfQuality,
  toneOfStatus,
} from '../template-accounts.ts'
import { wordOf } from '../words.ts'
import { EditTemplate } from './template-form.tsx'

const BACK = { href: hrefOf('/templates'), label: t('Templates') }

/** One template: what the provider says of it, what a person sees, and what may be done to it. */
export function TemplatePage({ id, isEdited }: { id: string; isEdited: boolean }) {
  const path = `/rest/templates/${encodeURIComponent(id)}`
  const { data: template, error } = useLoad(path, (signal) => call<Template>('GET', path, { signal }), {
    everyMs: 5_000,
  })
  const channels = useLoad('template channels', templateChannels)
  if (template === undefined || channels.data === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Template')} back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const { name, language, account } = template
  const provider = providerOf(channels.data, account)
  if (isEdited) return <EditTemplate template={template} provider={provider} />
  const mayChange = mayAll('write', 'templates')
  const remove = async () => {
    await call('DELETE', path)
    notify(t('{name} was deleted.', { name }))
    navigate('/templates')
  }
  return (
    <>
      <PageHead title={name} back={BACK} note={language}>
        {mayChange && (
          <LinkButton href={hrefOf(`/templates/${encodeURIComponent(id)}/edit`)}>{t('Edit')}</LinkButton>
        )}
        {mayChange && (
          <DeleteButton
            what={t('template {name}', { name })}
            note={t(
              'It is deleted at the provider as well, in {language} only. Messages of it are not sent any more.',
              { language },
            )}
            onDelete={remove}
          />
        )}
      </PageHead>
      <Facts template={template} channels={channels.data} />
      <PreviewCard template={template} provider={provider} />
    </>
  )
}

function Facts({ template, channels }: { template: Template; channels: readonly TemplateChannel[] }) {
  const { status, category, quality, refusedFor, account, syncedAt, updatedAt } = template
  const own = channels.filter((channel) => channel.account === account)
  return (
    <Card>
      <dl class="facts">
        <Fact term={t('Status')}>
          <Badge tone={toneOfStatus(status)}>{wordOf(status)}</Badge>
        </Fact>
        {refusedFor && <Fact term={t('Refused for')}>{wordOf(refusedFor)}</Fact>}
        <Fact term={t('Category')}>{wordOf(category)}</Fact>
        <Fact term={t('Quality')}>
          {quality && quality !== 'UNKNOWN' ? (
            <Badge tone={toneOfQuality(quality)}>{wordOf(quality)}</Badge>
          ) : (
            t('not known')
          )}
        </Fact>
        <Fact term={t('Channels')}>
          {own.length === 0
            ? account
            : own.map(({ _id, name }, at) => (
                <span key={_id}>
                  {at > 0 && ', '}
                  <a href={hrefOf(`/channels/${_id}`)}>{name}</a>
                </span>
              ))}
        </Fact>
        <Fact term={t('Changed')}>
          <Time at={updatedAt} relative />
        </Fact>
        <Fact term={t('Synchronised')}>
          <Time at={syncedAt} relative />
        </Fact>
      </dl>
    </Card>
  )
}

function PreviewCard({ template, provider }: { template: Template; provider: TemplateProvider }) {
  const [typed, setTyped] = useState<Record<string, string>>({})
  const filled = { ...examplesOf(provider, template), ...typed }
  const { templates } = provider
  const shown = shownTemplate(provider, template, templates.argumentsOf(template, filled))
  const fields = templates.fieldsOf(template)
  return (
    <Card
      title={t('What a person sees')}
      note={t('With the examples that it was reviewed with, or what you fill in')}
    >
      <div class="columns">
        {fields.length > 0 && (
          <form data-passing>
            {fields.map(({ key, label, type }) => (
              <TextField
                key={key}
                label={translated(label)}
                type={type === 'url' ? 'url' : 'text'}
                value={filled[key] ?? ''}
                onChange={(value) => setTyped((now) => ({ ...now, [key]: value }))}
              />
            ))}
          </form>
        )}
        <div class="bubbles">
          <div class="bubble theirs">{shown && <TemplateView preview={shown.preview} />}</div>
          {shown?.refused && (
            <p class="note">{t('It would not be sent so: {refused}', { refused: shown.refused })}</p>
          )}
        </div>
      </div>
    </Card>
  )
}
