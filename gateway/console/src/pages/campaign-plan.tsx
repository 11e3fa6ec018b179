import type { Schemas } from '@parley/client'
import type { TemplatePreview } from '@parley/shared/providers/templates'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { type Campaign, type CampaignEstimate, isOver, leftOutInWords, pausedInWords } from '../campaigns.ts'
import { Button, Dialog, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { count, duration } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { hrefOf } from '../router.ts'
import type { Given } from '../templates.ts'
import { reasonOf } from '../words.ts'
import { TemplateContent } from './bubbles.tsx'

/** The messages that three people of a campaign get, and a message to oneself. */
export function PlanCards({ campaign }: { campaign: Campaign }) {
  return (
    <div class="columns">
      <PreviewCard campaign={campaign} />
      <TestCard campaign={campaign} />
    </div>
  )
}

type Preview = Schemas['CampaignPreview']

function PreviewCard({ campaign }: { campaign: Campaign }) {
  const path = `/rest/campaigns/${campaign._id}/preview`
  const { data, error } = useLoad(`${path} ${campaign.updatedAt}`, (signal) =>
    call<Preview>('POST', path, { signal }),
  )
  return (
    <Card title={t('What people get')} note={t('The first three who would be written to now')}>
      <Failure error={error} />
      {data === undefined && !error && <Loading lines={3} />}
      {data?.data.length === 0 && (
        <Empty title={t('Nobody would be written to now')}>
          {t('“Start …” counts who is left out, and says why.')}
        </Empty>
      )}
      <div class="bubbles">
        {data?.data.map((one) => (
          <div key={one.person}>
            <p class="note">{one.name ?? t('Somebody without a name')}</p>
            <div class="bubble theirs">
              <Message campaign={campaign} of={one} />
            </div>
          </div>
        ))}
      </div>
    </Card>
  )
}

/** Where the template is not synchronised, what fills it. */
function Message({ campaign, of }: { campaign: Campaign; of: Preview['data'][number] }) {
  const { variables, shown } = of
  const { name: template, language } = campaign.template
  return (
    <>
      <TemplateContent
        given={{ ...campaign.more, variables, template, language } as Given}
        shown={
          shown && { preview: shown as TemplatePreview, refused: shown.reason && reasonOf(shown.reason) }
        }
      />
      {shown?.reason && (
        <p class="note">{t('It would not be sent so: {reason}', { reason: reasonOf(shown.reason) })}</p>
      )}
    </>
  )
}

function TestCard({ campaign }: { campaign: Campaign }) {
  const [address, setAddress] = useState('')
  const [sent, setSent] = useState<string>()
  const { busy, error, submit } = useSubmit(async () => {
    const path = `/rest/campaigns/${campaign._id}/test`
    const body = { address: addressOf(address) }
    const { message } = await call<{ message: string }>('POST', path, { body })
    setSent(message)
    notify(t('It is on its way.'))
  })
  if (isOver(campaign)) return null
  return (
    <Card title={t('Send it to yourself')} note={t('A message of its own, which counts in no result')}>
      <form onSubmit={submit} data-passing>
        <div class="inline">
          <TextField
            label={t('Your number')}
            type="tel"
            placeholder="+55 11 98888-7777"
            value={address}
            onChange={setAddress}
            required
          />
          <Button type="submit" disabled={busy}>
            {t('Send a test')}
          </Button>
        </div>
        <Failure error={error} />
      </form>
      {sent && (
        <p>
          <a href={hrefOf(`/messages/${sent}`)}>{t('What became of it')}</a>
        </p>
      )}
    </Card>
  )
}

/** Returns the address for a text; a text without a kind is taken as a phone number. */
const addressOf = (text: string): string =>
  /^[a-z]{1,32}:/.test(text.trim()) ? text.trim() : `phone:${text.replaceAll(/\D/g, '')}`

interface StartProps {
  campaign: Campaign
  onStart(): Promise<void>
  onClose(): void
}

/** Asks before a campaign starts, with what it would do: nobody writes to everybody by accident. */
export function StartDialog({ campaign, onStart, onClose }: StartProps) {
  const path = `/rest/campaigns/${campaign._id}/estimate`
  const { data, error } = useLoad(path, (signal) => call<CampaignEstimate>('POST', path, { signal }))
  const [failure, setFailure] = useState<Error>()
  const start = async () => {
    try {
      await onStart()
      onClose()
    } catch (thrown) {
      setFailure(thrown as Error)
    }
  }
  return (
    <Dialog title={t('Start {name}?', { name: campaign.name })} onClose={onClose}>
      <Failure error={failure ?? error} />
      {data === undefined && !error && <p role="status">{t('Counting …')}</p>}
      {data && <Estimate of={data} />}
      <div class="actions end">
        <Button onClick={onClose}>{t('Not yet')}</Button>
        <Button kind="primary" disabled={!data?.recipients || data.stop !== null} onClick={start}>
          {campaign.schedule.at === undefined ? t('Start') : t('Schedule')}
        </Button>
      </div>
    </Dialog>
  )
}

function Estimate({ of }: { of: CampaignEstimate }) {
  const { audience, recipients, leftOutBy, isExact, seconds, days, cost, stop, messagesPerSecond } = of
  const written = {
    b: (text: ComponentChildren) => <strong>{text}</strong>,
    recipients: count(recipients),
    audience: count(audience),
    perSecond: count(messagesPerSecond),
  }
  return (
    <>
      <p>
        {isExact
          ? rich('<b>{recipients}</b> of {audience} people are written to, {perSecond} a second.', written)
          : rich(
              '<b>About {recipients}</b> of {audience} people are written to, {perSecond} a second.',
              written,
            )}{' '}
        {days > 1
          ? t('It takes {days} days: the account may write to so many a day.', { days: count(days) })
          : t('It takes {duration}.', { duration: duration(seconds * 1_000) })}
        {cost &&
          ` ${t('It costs {amount} {currency}.', { amount: count(cost.amount), currency: cost.currency })}`}
      </p>
      {leftOutBy.length > 0 && (
        <ul>
          {leftOutBy.map(({ reason, recipients: out }) => (
            <li key={reason}>
              {t('{count} left out: {reason}', { count: count(out), reason: leftOutInWords(reason) })}
            </li>
          ))}
        </ul>
      )}
      {stop && (
        <p class="failure" role="alert">
          {t('It would stop at once: {reason}.', { reason: pausedInWords(stop) })}
        </p>
      )}
      {recipients === 0 && (
        <p class="failure" role="alert">
          {t('Nobody would be written to.')}
        </p>
      )}
    </>
  )
}
