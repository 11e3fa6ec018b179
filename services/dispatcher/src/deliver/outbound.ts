import type { Replica } from '@parley/shared/config-replica/replica'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { SecretBox } from '@parley/shared/sealed-value'
import { type Tracing, withTrace } from '@parley/shared/tracing'
import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { createDeltas } from '../agents/deltas.ts'
import { createTranscriber } from '../agents/kinds/transcriber.ts'
import { createLoadAgent } from '../agents/load-agent.ts'
import { choicesOf, deploymentChoice } from '../agents/model/choices.ts'
import { createHearing } from '../agents/model/hearing.ts'
import { createMediaSlots } from '../agents/model/media-slots.ts'
import { createModelClient } from '../agents/model/model-client.ts'
import { createAskSeeing } from '../agents/model/seeing.ts'
import { createTranscriptOf } from '../agents/model/transcribe.ts'
import { promptOf, timeZoneOf } from '../agents/prompt/prompt.ts'
import { createReadAction, type ReadAction } from '../agents/read-action.ts'
import { createDiscoverTools, type DiscoverTools } from '../agents/tools/discover-tools.ts'
import { createOpenToolbox } from '../agents/tools/open-toolbox.ts'
import { createReportMissing } from '../agents/tools/report-missing.ts'
import { createReportServer } from '../agents/tools/report-server.ts'
import { createToolImages } from '../agents/tools/tool-images.ts'
import { type Agents, createAgents } from '../agents/turns/agents.ts'
import { createDescribeAssistant } from '../agents/turns/describe-assistant.ts'
import { MAX_CALLS } from '../agents/turns/model-calls.ts'
import { createUsage } from '../agents/usage/usage.ts'
import { type CheckAccount, createCheckAccount } from '../channels/account/check-account.ts'
import type { Callback } from '../channels/callback.ts'
import { type Channels, createChannels, createOpenChannel } from '../channels/channels.ts'
import { createEndpoints } from '../channels/endpoints/endpoints.ts'
import { createHandOffCallback } from '../channels/hand-off.ts'
import { createHandle } from '../channels/handle.ts'
import { createGuardedFetch } from '../channels/http/guarded-fetch.ts'
import { createHttpClient, type HttpClient } from '../channels/http/http-client.ts'
import { type CallKind, observeCalls } from '../channels/http/observe-calls.ts'
import { createReadThreadFile } from '../channels/media/thread-files.ts'
import { createNumberRates } from '../channels/number-rates.ts'
import { createProviderCallback } from '../channels/provider-callback.ts'
import { createSendRateLimit } from '../channels/send-rate-limit/send-rate-limit.ts'
import { createSigner } from '../channels/signing.ts'
import { createSubmit } from '../channels/submit.ts'
import { createKnownTemplates, type KnownTemplates } from '../channels/templates/known-templates.ts'
import { type AskProvider, createAskProvider } from '../channels/templates/provider-templates.ts'
import { createShowTyping } from '../channels/typing.ts'
import type { Config } from '../config.ts'
import type { Consent } from '../consent/start-consent.ts'
import { createIsFirstOfName } from '../conversations/first-of-name.ts'
import { currentThread } from '../conversations/joined-threads.ts'
import { createLearnPerson } from '../conversations/learn-person.ts'
import { createIsOutsideWindow } from '../conversations/service-window.ts'
import { createIsWithPerson, giveToPerson } from '../conversations/take-over.ts'
import { createAccessTokens } from '../functions/access-tokens.ts'
import { type Authorizations, createAuthorizations } from '../functions/authorizations.ts'
import { createCallSettingsOf } from '../functions/call-settings.ts'
import { createCredentialsOf } from '../functions/credentials.ts'
import { createFindAction } from '../functions/find-action.ts'
import { createFunctions } from '../functions/functions.ts'
import { createReadOperationCall } from '../functions/operation-call.ts'
import { createReportTokens } from '../functions/report-tokens.ts'
import { createSpecReader } from '../functions/spec-reader.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { type Metrics, showBreakers } from '../metrics/metrics.ts'
import type { Collections } from '../store/collections.ts'
import { createIsScheduleFull } from '../store/scheduled.ts'
import type { Traffic } from '../store/traffic.ts'
import type { Times } from '../times.ts'
import type { StatusArrival } from './claim.ts'
import { createDeliverMessage, type DeliverMessage } from './deliver-message.ts'
import type { DeliverOptions } from './message-run.ts'

/** The most bytes that a model or an MCP server may answer to one request. */
const MAX_STREAM_BYTES = 5 * 1024 * 1024
const DAY_MS = 24 * 60 * 60 * 1_000

/** The retention of a message that has ended, in milliseconds. */
export const retentionOf = ({ MESSAGES_KEPT_DAYS }: Pick<Config, 'MESSAGES_KEPT_DAYS'>): number =>
  MESSAGES_KEPT_DAYS * DAY_MS

/** All that leads from a stored message to a handler, a person, an action or a task. */
export interface Outbound {
  run: DeliverMessage
  channels: Channels
  agents: Agents
  /** The parts by which a user connects an action. */
  connecting: { authorizations: Authorizations; readAction: ReadAction }
  /** Looks for what an action can be made of. */
  discoverTools: DiscoverTools
  /** The known templates, and the way to ask providers about them. */
  templates: { known: KnownTemplates; ask: AskProvider }
  /** Asks providers what is wrong with a channel there. */
  checkAccount: CheckAccount
  /** Fetches media from providers. */
  media: HttpClient
  close(): Promise<void>
}

/** Wires the delivery of messages to handlers, providers, actions and tasks. */
export function createOutbound(options: {
  config: Config
  replica: Replica
  secrets: Pick<SecretBox, 'open' | 'seal'>
  instance: string
  redis: Redis
  publisher: Pick<Publisher, 'publish'>
  statuses: StatusArrival
  collections: Pick<
    Collections,
    'messages' | 'threads' | 'usage' | 'usedTokens' | 'accessTokens' | 'authorizations' | 'templates'
  >
  configuration: Pick<InternalClient, 'get' | 'post'>
  webhook: Pick<InternalClient, 'getBytes' | 'post'>
  traffic: Pick<Traffic, 'moved' | 'left'>
  consent: Pick<Consent, 'suppressions' | 'record'>
  registry: Registry
  metrics: Metrics
  tracing: Tracing
  times: Times
  log: Log
}): Outbound {
  const { config, replica, secrets, redis, publisher, statuses, registry, tracing, log } = options
  const { collections, configuration, webhook, traffic, consent, times, metrics } = options
  const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS })
  const calls = (kind: CallKind) => observeCalls(http, { kind, metrics, tracing })
  const signer = createSigner(config.SIGNING_SECRET)
  const specs = createSpecReader()
  const openChannel = createOpenChannel(secrets)
  const channels = createChannels({ replica, openChannel })
  const knownTemplates = createKnownTemplates(collections.templates)
  const endpoints = createEndpoints({ now: Date.now, opened: metrics.breakerOpened })
  showBreakers(registry, endpoints)
  const notifyHandOff = createHandOffCallback({ http: calls('handler'), signer })
  const guarded = createGuardedFetch({
    allowed: config.ALLOWED_PRIVATE_TARGETS,
    maxBytes: MAX_STREAM_BYTES,
    maxSockets: MAX_CALLS,
  })
  const { fetch } = guarded
  const isFirstOfName = createIsFirstOfName(collections)
  const loadAgent = createLoadAgent({ replica, secrets, configuration, isFirstOfName })
  const deployment = deploymentChoice(config)
  const usage = createUsage({
    ...{ collections, metrics, log, now: Date.now },
    tokensPerDay: config.MODEL_TOKENS_PER_DAY,
  })
  const sources = { channels, webhook, http: calls('media') }
  const readFile = createReadThreadFile(collections, sources)
  const readCall = createReadOperationCall({ specs, http: calls('function'), signer, readFile })
  const transcriptOf = createTranscriptOf({ fetch, sources, usage })
  const mediaSlots = createMediaSlots()
  const model = createModelClient({ fetch })
  const toolImages = createToolImages()
  const tokens = createAccessTokens({
    http: calls('function'),
    collection: collections.accessTokens,
    secrets,
    instance: options.instance,
    report: createReportTokens({ configuration, log }),
  })
  const authorizations = createAuthorizations({
    ...{ http: calls('function'), collection: collections.authorizations, tokens, secrets },
  })
  const agents = createAgents({
    loadAgent,
    openToolbox: createOpenToolbox({
      specs,
      readCall,
      signer,
      configuration,
      isFirstOfName,
      fetch,
      toolImages,
      tokens,
      report: createReportServer({ configuration, log }),
      reportMissing: createReportMissing({ configuration, log }),
    }),
    toolImages,
    choicesOf: (agent) => choicesOf(agent, deployment),
    promptOf: (parts) => promptOf({ ...parts, timeZone: timeZoneOf(parts.channel) }),
    model,
    askSeeing: createAskSeeing({ model, http: sources.http }),
    hearing: createHearing(transcriptOf),
    mediaSlots,
    usage,
    showTyping: createShowTyping(calls('typing')),
    notifyHandOff,
    deltas: createDeltas({ redis, database: config.MONGO_DATABASE }),
    handOff: ({ record, reason }) =>
      handOff(collections, record, { reason, retentionMs: retentionOf(config) }),
    collections,
  })
  const learnPerson = createLearnPerson({
    ...{ collections, webhook, log },
    suppressions: consent.suppressions,
    retentionMs: retentionOf(config),
  })
  const numberRates = createNumberRates({ http: calls('rate'), now: () => performance.now() })
  const sendRateLimit = createSendRateLimit(redis, log)
  const run = createDeliverMessage({
    metrics,
    traffic,
    channels,
    endpoints,
    threads: {
      isWithPerson: createIsWithPerson(collections),
      isOutsideWindow: createIsOutsideWindow(collections),
    },
    suppressions: consent.suppressions,
    recordConsent: consent.record,
    statuses,
    log,
    agents,
    readQuoted: agents.readQuoted,
    knownTemplates,
    isScheduleFull: createIsScheduleFull(collections.messages),
    read: (_id) => collections.messages.findOne({ _id }),
    handle: createHandle({
      http: calls('handler'),
      signer,
      describeAssistant: createDescribeAssistant({ loadAgent }),
      transcriber: createTranscriber({ loadAgent, transcriptOf, mediaSlots }),
    }),
    callbackOf: createCallbackOf((provider) =>
      createProviderCallback(provider, { http: calls(provider.name), signer, numberRates, learnPerson }),
    ),
    functions: createFunctions({
      findAction: createFindAction({ replica, secrets, specs }),
      readCall,
      credentialsOf: createCredentialsOf({ replica, secrets }),
      callSettingsOf: createCallSettingsOf(replica),
      tokens,
    }),
    submit: createSubmit(publisher, isFirstOfName),
    sendRateLimit: {
      ...sendRateLimit,
      slowDown(keys) {
        numberRates.tooFast(keys.number)
        return sendRateLimit.slowDown(keys)
      },
    },
    uncertainWindow: config.UNCERTAIN_WINDOW_SECONDS * 1_000,
    retentionMs: retentionOf(config),
    times,
    now: Date.now,
  })
  return {
    run: traceDeliveries(run, tracing),
    channels,
    agents,
    connecting: { authorizations, readAction: createReadAction({ replica, secrets }) },
    discoverTools: createDiscoverTools({ http: calls('function'), specs, fetch }),
    templates: {
      known: knownTemplates,
      ask: createAskProvider({ replica, openChannel, http: calls('templates') }),
    },
    checkAccount: createCheckAccount({ replica, openChannel, http: calls('check') }),
    media: calls('media'),
    close: () => {
      http.close()
      guarded.close()
      return specs.close()
    },
  }
}

/** The thread of a message that its agent hands over; what else is open in it is not answered by the agent. */
async function handOff(
  collections: Pick<Collections, 'messages' | 'threads'>,
  { _id, workspace, channel, thread, partition }: MessageRecord,
  { reason, retentionMs }: { reason: string; retentionMs: number },
): Promise<void> {
  const name = await currentThread(collections.threads, { workspace, channel, extId: thread })
  const open = { ...name, joined: [thread], partitions: [partition], retentionMs }
  await giveToPerson(collections, open, { except: _id, given: { by: 'assistant', reason } })
}

/**
 * The same runner; each run is a span of the trace that the message came in with, named and described by
 * OpenTelemetry's conventions for RabbitMQ, and what it calls belongs to it.
 */
function traceDeliveries(run: DeliverMessage, tracing: Tracing): DeliverMessage {
  return (record, leased, calling) => {
    const span = tracing.start(`process ${MESSAGES_EXCHANGE}`, {
      kind: 'consumer',
      parent: record.traceparent,
      attributes: {
        'messaging.system': 'rabbitmq',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': MESSAGES_EXCHANGE,
        'messaging.destination.partition.id': String(record.partition),
        'messaging.message.id': record._id,
      },
    })
    return withTrace(span.traceparent, async () => {
      const result = await run(record, leased, calling)
      span.end({ attributes: { 'parley.result': result.kind } })
      return result
    })
  }
}

/** The callback of each provider, made when it is first needed. Throws for a name that no provider has. */
function createCallbackOf(create: (provider: Provider) => Callback): DeliverOptions['callbackOf'] {
  const callbacks = new Map<Provider, Callback>()
  return (name) => {
    const provider = providerNamed(name)
    if (provider === undefined) throw new Error(`no provider is named ${name}`)
    const callback = callbacks.get(provider) ?? create(provider)
    callbacks.set(provider, callback)
    return callback
  }
}
