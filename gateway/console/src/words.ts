import { reasonInWords } from '@parley/shared/explain-message'
import { t, translated } from './language.ts'

/** Words that the API has for states and kinds, as people read them. */
const WORDS: Readonly<Record<string, string>> = {
  // Messages, sends and attempts
  ...{ received: t('received'), handled: t('handled'), sending: t('sending'), sent: t('sent') },
  ...{ delivered: t('delivered'), read: t('read'), done: t('done'), failed: t('failed'), dead: t('dead') },
  ...{ unrouted: t('unrouted'), pending: t('pending'), claimed: t('sending'), uncertain: t('uncertain') },
  ...{ accepted: t('accepted'), permanent: t('permanent'), retryable: t('retryable') },
  ...{ waiting: t('waiting'), posted: t('posted'), deferred: t('deferred'), left_out: t('left out') },
  // Campaigns, tasks, trials and connections
  ...{ draft: t('draft'), scheduled: t('scheduled'), running: t('running'), paused: t('paused') },
  ...{ finished: t('finished'), cancelled: t('cancelled'), active: t('active'), completed: t('completed') },
  ...{ working: t('working'), unavailable: t('unavailable'), unauthorized: t('unauthorized') },
  // Consent
  ...{ granted: t('granted'), withdrawn: t('withdrawn'), unknown: t('unknown') },
  ...{ marketing: t('marketing'), service: t('service') },
  // Templates
  ...{ approved: t('approved'), disabled: t('disabled'), deleted: t('deleted') },
  ...{
    in_appeal: t('in appeal'),
    pending_deletion: t('pending deletion'),
    limit_exceeded: t('limit exceeded'),
  },
  ...{ utility: t('utility'), authentication: t('authentication') },
  ...{
    green: t('green'),
    yellow: t('yellow'),
    red: t('red'),
    high: t('high'),
    medium: t('medium'),
    low: t('low'),
  },
  ...{ header: t('header'), body: t('body'), footer: t('footer'), buttons: t('buttons'), name: t('name') },
  ...{ language: t('language'), category: t('category'), carousel: t('carousel') },
  ...{ components: t('components'), example: t('example') },
  ...{ quick_reply: t('quick reply'), phone_number: t('phone number') },
  ...Object.fromEntries([
    ['rejected', t('rejected')],
    ['copy_code', t('copy code')],
  ]),
  // Kinds of values and files
  ...{
    text: t('text'),
    number: t('number'),
    boolean: t('yes or no'),
    date: t('date'),
    message: t('message'),
  },
  ...{
    image: t('image'),
    video: t('video'),
    audio: t('audio'),
    document: t('document'),
    sticker: t('sticker'),
  },
  ...{
    template: t('template'),
    location: t('location'),
    contacts: t('contacts'),
    interactive: t('interactive'),
  },
  ...{ voice: t('voice message'), reaction: t('reaction'), function: t('function') },
  // The history of a document
  ...{ create: t('created'), update: t('changed'), delete: t('deleted'), restore: t('restored') },
  ...{ created: t('created'), updated: t('changed'), accept: t('accepted') },
  ...{ 'forgot-password': t('new password asked for'), 'make-password-link': t('password link made') },
  ...{ 'reset-password': t('password set by a link') },
  ...{ change_password: t('password changed'), login: t('login'), refused: t('refused') },
  ...{ 'take-over': t('taken over'), 'give-back': t('given back'), replay: t('replayed') },
  ...{ pause: t('paused'), resume: t('resumed'), cancel: t('cancelled'), schedule: t('scheduled') },
  ...{ unschedule: t('unscheduled'), import: t('imported') },
  // Colors that may be chosen
  ...{ system: t('theme of the system'), light: t('light'), dark: t('dark') },
  // Grants of a role
  ...{ all: t('all'), some: t('some'), none: t('none') },
  // Subjects of events
  ...{ failing: t('failing'), opted_out: t('opted out'), opted_in: t('opted in'), erased: t('erased') },
}

/** A word of the API in the viewer's language; one that is not known as it is, in small letters where it has capitals only. */
export function wordOf(word: string): string {
  const known = WORDS[word.toLowerCase().replaceAll(' ', '_')]
  if (known !== undefined) return known
  return (/^[A-Z_]+$/.test(word) ? word.toLowerCase() : word).replaceAll('_', ' ')
}

/** Why something is so, in the viewer's language where the API words it; what others said stays as it is. */
export const reasonOf = (reason: string): string => translated(reasonInWords(reason, t))

/** Names of the resources that roles have rights for. */
const RESOURCES: Readonly<Record<string, string>> = {
  ...{ messages: t('Messages'), threads: t('Conversations'), channels: t('Channels'), tasks: t('Tasks') },
  ...{ steps: t('Steps'), assistant: t('Assistants'), configs: t('Configs'), actions: t('Actions') },
  ...{ jobs: t('Jobs'), workflows: t('Workflows'), subscriptions: t('Subscriptions') },
  ...{
    replies: t('Canned replies'),
    users: t('Users'),
    roles: t('Roles'),
    teams: t('Teams'),
    tokens: t('API tokens'),
  },
  ...{ workspaces: t('Workspaces'), audit: t('Audit log'), usage: t('Usage'), people: t('People') },
  ...{ segments: t('Segments'), templates: t('Templates'), campaigns: t('Campaigns') },
  invitations: t('Invitations'),
}

/** A resource of the API as the console calls it. */
export const resourceInWords = (name: string): string => RESOURCES[name] ?? name
