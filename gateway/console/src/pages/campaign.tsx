import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import {
  audienceInWords,
  type Campaign,
  isOver,
  isToCome,
  namesOfChannels,
  pausedInWords,
  TONES,
  waitInWords,
} from '../campaigns.ts'
import { Button, DeleteButton, LinkButton, notify } from '../components/actions.tsx'
import { Badge, Card, Fact, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { count, exactTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { PlanCards, StartDialog } from './campaign-plan.tsx'
import { ResultsCards } from './campaign-results.tsx'

const BACK = { href: hrefOf('/campaigns'), label: 'Campaigns' }

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
        <PageHead title="Campaign" back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const { name, state, paused, waiting } = campaign
  const mayPlan = may('write', 'campaigns') && may('write', 'messages')
  return (
    <>
      <PageHead title={name} back={BACK} note={<Badge tone={TONES[state]}>{state}</Badge>}>
        {may('write', 'campaigns') && <Actions campaign={campaign} onChange={put} />}
      </PageHead>
      {state === 'paused' && paused && (
        <p class="failure" role="status">
          Paused <Time at={paused.at} relative />: {pausedInWords(paused.reason)}.
        </p>
      )}
      {waiting && (
        <p class="note" role="status">
          It waits for {waitInWords(waiting.for)}
          {waiting.until && (
            <>
              {', until '}
              <Time at={waiting.until} />
            </>
          )}
          .
        </p>
      )}
      {!isToCome(campaign) && <ResultsCards campaign={campaign} query={query} />}
      <Facts
        campaign={campaign}
        channel={channels.data?.get(campaign.channel) ?? `No. ${campaign.channel}`}
      />
      {mayPlan && <PlanCards campaign={campaign} />}
    </>
  )
}

const ACTIONS: Record<string, { action: string; name: string; done: string }[]> = {
  scheduled: [{ action: 'unschedule', name: 'Back to draft', done: 'It is a draft again.' }],
  running: [{ action: 'pause', name: 'Pause', done: 'It is paused.' }],
  paused: [{ action: 'resume', name: 'Resume', done: 'It goes on.' }],
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
    notify(`${name} was deleted.`)
    navigate('/campaigns')
  }
  const isScheduled = campaign.schedule.at !== undefined
  return (
    <>
      {state === 'draft' && may('write', 'messages') && (
        <Button kind="primary" onClick={() => setStarting(true)}>
          {isScheduled ? 'Schedule…' : 'Start…'}
        </Button>
      )}
      {state === 'draft' && <LinkButton href={hrefOf(`/campaigns/${_id}/edit`)}>Edit</LinkButton>}
      {ACTIONS[state]?.map(({ action, name: what, done }) => (
        <Button key={action} kind="primary" onClick={() => act(action, done)}>
          {what}
        </Button>
      ))}
      <LinkButton href={hrefOf(`/campaigns/new?from=${_id}`)}>Draft another</LinkButton>
      {!isOver(campaign) && state !== 'draft' && (
        <DeleteButton
          action="Cancel"
          dismiss="Go back"
          what={`campaign ${name}`}
          note="For good: whoever was not written to by then is left out."
          onDelete={() => act('cancel', 'It is cancelled.')}
        />
      )}
      {(isOver(campaign) || state === 'draft') && (
        <DeleteButton
          what={`campaign ${name}`}
          note="Its results go with it, which can’t be undone. Its messages stay in the log."
          onDelete={remove}
        />
      )}
      {isStarting && (
        <StartDialog
          campaign={campaign}
          onStart={() => act('schedule', 'It is scheduled.')}
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
    <Card title="What it says">
      <dl class="facts">
        <Fact term="Template">
          {template.name} <span class="quiet">{template.language}</span>
        </Fact>
        <Fact term="Channel">{channel}</Fact>
        <Fact term="For">{audienceInWords(campaign)}</Fact>
        <Fact term="Begins">{beginningOf(schedule)}</Fact>
        {schedule.quietHours && (
          <Fact term="Quiet hours">
            {schedule.quietHours.from} to {schedule.quietHours.to}, for each person
          </Fact>
        )}
        {schedule.endsAt && (
          <Fact term="Ends">
            <Time at={schedule.endsAt} />
          </Fact>
        )}
        <Fact term="Rate">
          {messagesPerSecond ? `${messagesPerSecond} a second` : 'as the number allows'}
        </Fact>
        <Fact term="Consent">
          {requiresConsent ? 'only who has granted it' : 'all but who has withdrawn it'}
        </Fact>
        {budget?.messages && <Fact term="Budget">{count(budget.messages)} messages</Fact>}
        {money && (
          <Fact term="Budget">
            {count(money.amount)} {money.currency}, {money.perMessage} a message
          </Fact>
        )}
        {frequencyCap && (
          <Fact term="At most">
            {frequencyCap.messages} of other campaigns in {frequencyCap.days} days
          </Fact>
        )}
        {holdoutPercent > 0 && <Fact term="Left out to compare">{holdoutPercent}%</Fact>}
      </dl>
    </Card>
  )
}

function beginningOf({ at, timeZone, inEachTimeZone }: Campaign['schedule']): string {
  if (at === undefined) return 'at once'
  if (/(?:Z|[+-]\d\d:\d\d)$/.test(at)) return exactTime(at)
  const clock = at.slice(0, 16).replace('T', ' ')
  return inEachTimeZone ? `${clock}, where each person is` : `${clock}, ${timeZone}`
}
