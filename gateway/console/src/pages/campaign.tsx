import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import {
  audienceInWords,
  type Campaign,
  isOver,
  isToCome,
  namesOfChannels,
  pausedInWords,
  pricesInWords,
  TONES,
  waitInWords,
} from '../campaigns.ts'
import { Button, DeleteButton, LinkButton, notify } from '../components/actions.tsx'
import { Badge, Card, Fact, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { count, exactTime, numbered, percent } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { wordOf } from '../words.ts'
import { PlanCards, StartDialog } from './campaign-plan.tsx'
import { ResultsCards } from './campaign-results.tsx'

const BACK = { href: hrefOf('/campaigns'), label: t('Campaigns') }

/** One campaign: what it says, what it would do before it starts, and what became of it after that. */
export function CampaignPage({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/rest/campaigns/${id}`
  const {
    data: campaign,
    error,
    put,
  } = useLoad(path, (signal) => call<Campaign>('GET', path, { signal }), { everyMs: 3_000 })
  const channels = useLoad('names of channels', namesOfChannels)
  if (campaign === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Campaign')} back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const { name, state, paused, waiting } = campaign
  const mayPlan = may('write', 'campaigns') && may('write', 'messages')
  return (
    <>
      <PageHead title={name} back={BACK} note={<Badge tone={TONES[state]}>{wordOf(state)}</Badge>}>
        {may('write', 'campaigns') && <Actions campaign={campaign} onChange={put} />}
      </PageHead>
      {state === 'paused' && paused && (
        <p class="failure" role="status">
          {rich('Paused {time}: {reason}.', {
            time: <Time at={paused.at} relative />,
            reason: pausedInWords(paused.reason),
          })}
        </p>
      )}
      {waiting && (
        <p class="note" role="status">
          {waiting.until
            ? rich('It waits for {what}, until {time}.', {
                what: waitInWords(waiting.for),
                time: <Time at={waiting.until} />,
              })
            : t('It waits for {what}.', { what: waitInWords(waiting.for) })}
        </p>
      )}
      {!isToCome(campaign) && <ResultsCards campaign={campaign} query={query} />}
      <Facts
        campaign={campaign}
        channel={channels.data?.get(campaign.channel) ?? numbered(campaign.channel)}
      />
      {mayPlan && <PlanCards campaign={campaign} />}
    </>
  )
}

const ACTIONS: Record<string, { path: string; name: string; done: string }[]> = {
  scheduled: [{ path: 'unschedule', name: t('Back to draft'), done: t('It is a draft again.') }],
  running: [{ path: 'pause', name: t('Pause'), done: t('It is paused.') }],
  paused: [{ path: 'resume', name: t('Resume'), done: t('It goes on.') }],
}

function Actions({ campaign, onChange }: { campaign: Campaign; onChange(changed: Campaign): void }) {
  const { _id, name, state } = campaign
  const [isStarting, setStarting] = useState(false)
  const path = `/rest/campaigns/${_id}`
  const act = async (action: string, done: string) => {
    onChange(await call<Campaign>('POST', `${path}/${action}`))
    notify(done)
  }
  const remove = async () => {
    await call('DELETE', path)
    notify(t('{name} was deleted.', { name }))
    navigate('/campaigns')
  }
  const isScheduled = campaign.schedule.at !== undefined
  return (
    <>
      {state === 'draft' && may('write', 'messages') && (
        <Button kind="primary" onClick={() => setStarting(true)}>
          {isScheduled ? t('Schedule…') : t('Start…')}
        </Button>
      )}
      {state === 'draft' && <LinkButton href={hrefOf(`/campaigns/${_id}/edit`)}>{t('Edit')}</LinkButton>}
      {ACTIONS[state]?.map(({ path: action, name: what, done }) => (
        <Button key={action} kind="primary" onClick={() => act(action, done)}>
          {what}
        </Button>
      ))}
      <LinkButton href={hrefOf(`/campaigns/new?from=${_id}`)}>{t('Draft another')}</LinkButton>
      {!isOver(campaign) && state !== 'draft' && (
        <DeleteButton
          action={t('Cancel')}
          dismiss={t('Go back')}
          what={t('campaign {name}', { name })}
          note={t('For good: whoever was not written to by then is left out.')}
          onDelete={() => act('cancel', t('It is cancelled.'))}
        />
      )}
      {(isOver(campaign) || state === 'draft') && (
        <DeleteButton
          what={t('campaign {name}', { name })}
          note={t('Its results go with it, which can’t be undone. Its messages stay in the log.')}
          onDelete={remove}
        />
      )}
      {isStarting && (
        <StartDialog
          campaign={campaign}
          onStart={() => act('schedule', t('It is scheduled.'))}
          onClose={() => setStarting(false)}
        />
      )}
    </>
  )
}

function Facts({ campaign, channel }: { campaign: Campaign; channel: string }) {
  const { template, schedule, messagesPerSecond, requiresConsent, budget, holdoutPercent, frequencyCap } =
    campaign
  const { money } = budget ?? {}
  return (
    <Card title={t('What it says')}>
      <dl class="facts">
        <Fact term={t('Template')}>
          {template.name} <span class="quiet">{template.language}</span>
        </Fact>
        <Fact term={t('Channel')}>{channel}</Fact>
        <Fact term={t('For')}>{audienceInWords(campaign)}</Fact>
        <Fact term={t('Begins')}>{beginningOf(schedule)}</Fact>
        {schedule.quietHours && (
          <Fact term={t('Quiet hours')}>
            {t('{from} to {to}, for each person', {
              from: schedule.quietHours.from,
              to: schedule.quietHours.to,
            })}
          </Fact>
        )}
        {schedule.endsAt && (
          <Fact term={t('Ends')}>
            <Time at={schedule.endsAt} />
          </Fact>
        )}
        <Fact term={t('Rate')}>
          {messagesPerSecond
            ? t('{count} a second', { count: count(messagesPerSecond) })
            : t('as the number allows')}
        </Fact>
        <Fact term={t('Consent')}>
          {requiresConsent ? t('only who has granted it') : t('all but who has withdrawn it')}
        </Fact>
        {budget?.messages && (
          <Fact term={t('Budget')}>
            {t('{count, plural, one {# message} other {# messages}}', { count: budget.messages })}
          </Fact>
        )}
        {money && (
          <Fact term={t('Budget')}>
            {t('{amount} {currency}, {perMessage} a message', {
              amount: count(money.amount),
              currency: money.currency,
              perMessage: pricesInWords(money.perMessage),
            })}
          </Fact>
        )}
        {frequencyCap && (
          <Fact term={t('At most')}>
            {t('{messages} of other campaigns in {days, plural, one {# day} other {# days}}', {
              messages: frequencyCap.messages,
              days: frequencyCap.days,
            })}
          </Fact>
        )}
        {holdoutPercent > 0 && <Fact term={t('Left out to compare')}>{percent(holdoutPercent / 100)}</Fact>}
      </dl>
    </Card>
  )
}

function beginningOf({ at, timeZone, inEachTimeZone }: Campaign['schedule']): string {
  if (at === undefined) return t('at once')
  if (/(?:Z|[+-]\d\d:\d\d)$/.test(at)) return exactTime(at)
  const clock = at.slice(0, 16).replace('T', ' ')
  return inEachTimeZone ? t('{clock}, where each person is', { clock }) : `${clock}, ${timeZone}`
}
