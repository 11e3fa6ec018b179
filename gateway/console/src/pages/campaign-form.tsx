import { useState } from 'preact/hooks'
import { call, listAll } from '../api.ts'
import { bodyOf, type CampaignDraft, draftOf, emptyDraft, withoutNulls } from '../campaign-draft.ts'
import { type Campaign, templateOf } from '../campaigns.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, PageHead } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { providerOf, type Template, type TemplateChannel, templateChannels } from '../template-accounts.ts'
import { wordOf } from '../words.ts'
import { AudienceFields, CampaignTemplateFields, LimitFields, TimeFields } from './campaign-fields.tsx'

const BACK = { href: hrefOf('/campaigns'), label: t('Campaigns') }
const MOST_TEMPLATES = 2_000

/** The data that a form starts from: the channels, and the campaign with its template where there is one. */
interface Begun {
  channels: TemplateChannel[]
  campaign: Campaign | undefined
  template: Template | undefined
}

function useBegun(id: string | undefined) {
  return useLoad(`campaign to write ${id}`, async (signal): Promise<Begun> => {
    const channels = await templateChannels()
    if (id === undefined) return { channels, campaign: undefined, template: undefined }
    const campaign = await call<Campaign>('GET', `/rest/campaigns/${id}`, { signal })
    return { channels, campaign, template: await templateOf(campaign, channels) }
  })
}

/** Drafts a campaign, as another one where that is named. */
export function NewCampaign({ from }: { from: string | undefined }) {
  const { data, error } = useBegun(from)
  if (!may('write', 'campaigns')) return <PageHead title={t('Your role can’t draft campaigns')} back={BACK} />
  const create = async (draft: CampaignDraft, body: ReturnType<typeof bodyOf>) => {
    const asIs = draft.audience === 'as_is' && data?.campaign ? { audience: data.campaign.audience } : {}
    const made = await call<Campaign>('POST', '/rest/campaigns', { body: withoutNulls({ ...body, ...asIs }) })
    notify(t('{name} is drafted: nothing is sent before you start it.', { name: made.name }))
    navigate(`/campaigns/${made._id}`)
  }
  return (
    <>
      <PageHead
        title={t('New campaign')}
        back={BACK}
        note={t('A draft: nothing is sent before you start it')}
      />
      {data ? (
        <CampaignForm begun={data} action={t('Save the draft')} onSubmit={create} />
      ) : (
        <Wait error={error} />
      )}
    </>
  )
}

/** Changes a campaign that is a draft. */
export function EditCampaign({ id }: { id: string }) {
  const { data, error } = useBegun(id)
  const change = async (_draft: CampaignDraft, body: ReturnType<typeof bodyOf>) => {
    await call('PATCH', `/rest/campaigns/${id}`, { body })
    notify(t('Saved.'))
    navigate(`/campaigns/${id}`)
  }
  return (
    <>
      <PageHead
        title={data?.campaign ? t('Edit {name}', { name: data.campaign.name }) : t('Edit a campaign')}
        back={{ href: hrefOf(`/campaigns/${id}`), label: data?.campaign?.name ?? t('Campaign') }}
      />
      {data ? <CampaignForm begun={data} action={t('Save')} onSubmit={change} /> : <Wait error={error} />}
    </>
  )
}

const Wait = ({ error }: { error: Error | undefined }) =>
  error ? <Failure error={error} /> : <Loading lines={8} />

interface FormProps {
  begun: Begun
  action: string
  onSubmit(draft: CampaignDraft, body: ReturnType<typeof bodyOf>): Promise<void>
}

function CampaignForm({ begun: { channels, campaign, template: own }, action, onSubmit }: FormProps) {
  const [draft, setDraft] = useState<CampaignDraft>(() =>
    campaign === undefined
      ? { ...emptyDraft(), channel: String(channels[0]?._id ?? '') }
      : draftOf(campaign, own, providerOf(channels, own?.account ?? '')),
  )
  const set = (change: Partial<CampaignDraft>) => setDraft((now) => ({ ...now, ...change }))
  const channel = channels.find(({ _id }) => String(_id) === draft.channel)
  const account = channel?.account ?? ''
  const { data: approved, error: missing } = useLoad(`approved templates ${account}`, async () =>
    account === ''
      ? []
      : listAll<Template>('/rest/templates', {
          limit: MOST_TEMPLATES,
          query: { account, status: 'APPROVED' },
        }),
  )
  const isListed =
    own === undefined || own.account !== account || approved?.some(({ _id }) => _id === own._id)
  const templates = isListed ? (approved ?? []) : [own, ...(approved ?? [])]
  const template = templates.find(({ _id }) => _id === draft.template)
  const provider = providerOf(channels, account)
  const { busy, error, submit } = useSubmit(async () => {
    if (template !== undefined) await onSubmit(draft, bodyOf(draft, template, provider))
  })
  if (channels.length === 0)
    return (
      <Empty title={t('No channel has templates')}>
        <a href={hrefOf('/channels')}>{t('Name the account of one in its settings')}</a>
      </Empty>
    )
  return (
    <form onSubmit={submit}>
      <div class="columns">
        <div>
          <Card title={t('What is sent')}>
            <TextField
              label={t('Name')}
              note={t('For the team')}
              value={draft.name}
              onChange={(name) => set({ name })}
              required
              isFirst
            />
            <SelectField
              label={t('Channel')}
              value={draft.channel}
              options={channels.map(({ _id, name }) => ({ value: String(_id), name }))}
              onChange={(chosen) => set({ channel: chosen, template: '' })}
            />
            <SelectField
              label={t('Template')}
              note={approved?.length === 0 ? t('None of this channel is approved') : undefined}
              value={template?._id ?? ''}
              options={[
                ...(template === undefined ? [{ value: '', name: t('Choose …') }] : []),
                ...templates.map(({ _id, name, language, category }) => ({
                  value: _id,
                  name: `${name} · ${language} · ${wordOf(category)}`,
                })),
              ]}
              onChange={(chosen) => set({ template: chosen })}
            />
            <Failure error={missing} />
            {template && <CampaignTemplateFields {...{ draft, set, template, provider }} />}
          </Card>
        </div>
        <div>
          <Card title={t('To whom')}>
            <AudienceFields {...{ draft, set, campaign }} />
          </Card>
          <Card title={t('When')}>
            <TimeFields {...{ draft, set }} />
          </Card>
          <Card title={t('How much')}>
            <LimitFields {...{ draft, set }} />
          </Card>
        </div>
      </div>
      <Failure error={error} />
      <div class="actions">
        <Button type="submit" kind="primary" disabled={busy || template === undefined}>
          {action}
        </Button>
      </div>
    </form>
  )
}
