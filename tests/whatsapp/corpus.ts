// Payloads as Meta sends them, of our own making: one for each type of message, status and field of the webhook.

export const NUMBER = '901'
const PERSON = '5511999998888'
const AT = '1760000000'

/** One payload, and how many things it has. */
interface Sample {
  name: string
  payload: Record<string, unknown>
  /** Messages, statuses and changes of other fields. */
  holds: number
}

/** A payload with these changes, each of a field and its value. */
export function payloadWith(...changes: readonly { field: string; value: object }[]): Sample['payload'] {
  return { object: 'whatsapp_business_account', entry: [{ id: '100', time: Number(AT), changes }] }
}

/** A change of the field with messages and statuses. */
export const messagesChange = (value: object, number = NUMBER) => ({
  field: 'messages',
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '15550001111', phone_number_id: number },
    ...value,
  },
})

const contacts = [{ profile: { name: 'Zoë' }, wa_id: PERSON, user_id: 'BR.4711' }]
const media = { id: '4711', mime_type: 'image/jpeg', sha256: 'aGFzaA==' }
const context = { from: '15550001111', id: 'wamid.earlier' }
const interactive = (content: object) => ({ type: 'interactive', interactive: content })
const text = (body: string) => ({ type: 'text', text: { body } })
const edited = { message_id: 'wamid.earlier', from: PERSON }

/** The content of a message of each type. */
const MESSAGES: Record<string, object> = {
  text: text('Olá'),
  'text with a quote': { ...text('that one'), context },
  'text about a product': {
    ...text('still there?'),
    context: { ...context, referred_product: { catalog_id: '1', product_retailer_id: 'sku-1' } },
  },
  'text that was forwarded': { ...text('news'), context: { forwarded: true, frequently_forwarded: true } },
  'text after an advertisement': {
    ...text('more?'),
    referral: { source_type: 'ad', source_id: '1', source_url: 'https://fb.me/1', headline: 'h', body: 'b' },
  },
  'text in a group': { ...text('hi all'), group_id: 'Y2FwaV9ncm91cDox' },
  image: { type: 'image', image: { ...media, caption: 'look' } },
  'voice message': { type: 'audio', audio: { ...media, mime_type: 'audio/ogg; codecs=opus', voice: true } },
  video: { type: 'video', video: media },
  document: { type: 'document', document: { ...media, filename: 'a.pdf', caption: 'read' } },
  sticker: { type: 'sticker', sticker: { ...media, animated: false } },
  'media that are yet to come': { type: 'media_placeholder' },
  location: {
    type: 'location',
    location: { latitude: -23.5, longitude: -46.6, name: 'Shop', address: 'A 1' },
  },
  contacts: {
    type: 'contacts',
    contacts: [{ name: { formatted_name: 'Ana' }, phones: [{ phone: '+55 11 9', wa_id: '55119' }] }],
  },
  'button of a template': { type: 'button', button: { text: 'Yes', payload: 'yes' }, context },
  'button reply': interactive({ type: 'button_reply', button_reply: { id: 'a', title: 'A' } }),
  'list reply': interactive({ type: 'list_reply', list_reply: { id: 'b', title: 'B', description: 'c' } }),
  'form reply': interactive({
    type: 'nfm_reply',
    nfm_reply: { name: 'flow', body: 'Sent', response_json: '{"flow_token":"1"}' },
  }),
  'reply to a request to call': interactive({
    type: 'call_permission_reply',
    call_permission_reply: { response: 'accept', is_permanent: false, response_source: 'user_action' },
  }),
  reaction: { type: 'reaction', reaction: { message_id: 'wamid.earlier', emoji: '👍' } },
  'reaction that is taken back': { type: 'reaction', reaction: { message_id: 'wamid.earlier' } },
  order: {
    type: 'order',
    order: {
      catalog_id: '1',
      text: 'please',
      product_items: [{ product_retailer_id: 'sku-1', quantity: 2 }],
    },
  },
  edit: {
    type: 'edit',
    edit: { original_message_id: 'wamid.earlier', message: { ...edited, ...text('Olá!') } },
  },
  revoke: { type: 'revoke', revoke: { original_message_id: 'wamid.earlier' } },
  'another number of a person': {
    type: 'system',
    system: {
      type: 'user_changed_number',
      body: 'changed',
      wa_id: '5511999997777',
      new_wa_id: '5511999997777',
    },
  },
  'another id of a person': {
    type: 'system',
    system: { type: 'user_changed_user_id', body: 'changed', user_id: 'BR.4712' },
  },
  'another identity of a person': {
    type: 'system',
    system: { type: 'customer_identity_changed', body: 'changed', identity: 'abc', customer: PERSON },
  },
  'poll, which is not supported': {
    type: 'unsupported',
    unsupported: { type: 'poll_creation' },
    errors: [{ code: 131051, title: 'Message type unknown', error_data: { details: 'not supported' } }],
  },
  'request for a welcome': { type: 'request_welcome' },
  'type that is not known': { type: 'hologram', hologram: { depth: 3 } },
}

const pricing = { billable: true, pricing_model: 'PMP', category: 'utility', type: 'regular' }
const errorOf = (code: number, details: string) => ({
  errors: [{ code, title: details, message: details, error_data: { details } }],
})

/** The fields of a status beside its id, time and recipient. */
const STATUSES: Record<string, object> = {
  sent: { status: 'sent', pricing, biz_opaque_callback_data: 'm:0' },
  delivered: { status: 'delivered', pricing },
  read: { status: 'read' },
  played: { status: 'played' },
  'sent, priced by the conversation': {
    status: 'sent',
    conversation: { id: 'c', expiration_timestamp: AT, origin: { type: 'service' } },
    pricing: { billable: true, pricing_model: 'CBP', category: 'service' },
  },
  'sent, for nothing': {
    status: 'sent',
    pricing: { billable: false, pricing_model: 'PMP', category: 'service', type: 'free_customer_service' },
  },
  'failed: not deliverable': { status: 'failed', ...errorOf(131026, 'Message undeliverable') },
  'failed: not now': { status: 'failed', ...errorOf(131049, 'healthy ecosystem engagement') },
  'failed: an experiment': { status: 'failed', ...errorOf(130472, 'part of an experiment') },
  'failed: stopped': { status: 'failed', ...errorOf(131050, 'stopped marketing messages') },
  'failed without a reason': { status: 'failed' },
  'read by one of a group': {
    status: 'read',
    recipient_type: 'group',
    recipient_id: 'Y2FwaV9ncm91cDox',
    recipient_participant_id: PERSON,
  },
  'of somebody without a number': { status: 'sent', recipient_id: undefined, recipient_user_id: 'US.1' },
  'that is not known': { status: 'warning' },
}

const echo = { from: '15550001111', to: PERSON, id: 'wamid.echo', timestamp: AT, ...text('from the app') }
const historyThread = { id: PERSON, messages: [{ ...echo, history_context: { status: 'READ' } }] }
const template = {
  message_template_id: 1,
  message_template_name: 'order_update',
  message_template_language: 'en',
}
const group = { timestamp: AT, group_id: 'g', request_id: 'r' }

/** A value of each field but that of messages. */
const FIELDS: Record<string, object> = {
  smb_message_echoes: { message_echoes: [echo] },
  history: { history: [{ metadata: { phase: 0, chunk_order: 1, progress: 55 }, threads: [historyThread] }] },
  smb_app_state_sync: {
    state_sync: [{ type: 'contact', contact: { full_name: 'Ana', phone_number: PERSON }, action: 'add' }],
  },
  message_echoes: { message_echoes: [echo] },
  standby: { messages: [{ from: PERSON, id: 'wamid.standby', timestamp: AT, ...text('to another app') }] },
  tracking_events: { tracking_events: [{ event_name: 'click' }] },
  messaging_handovers: { control_passed: { previous_owner: 'a', new_owner: 'b' } },
  user_preferences: {
    contacts,
    user_preferences: [{ wa_id: PERSON, category: 'marketing_messages', value: 'stop', detail: 'stopped' }],
  },
  message_template_status_update: { event: 'REJECTED', reason: 'INVALID_FORMAT', ...template },
  message_template_quality_update: { previous_quality_score: 'GREEN', new_quality_score: 'RED', ...template },
  message_template_components_update: { message_template_element: 'Hi {{1}}', ...template },
  template_category_update: { previous_category: 'UTILITY', new_category: 'MARKETING', ...template },
  template_correct_category_detection: { category: 'MARKETING', ...template },
  phone_number_quality_update: { display_phone_number: '1555', event: 'DOWNGRADE', current_limit: 'TIER_1K' },
  phone_number_name_update: {
    display_phone_number: '1555',
    decision: 'APPROVED',
    requested_verified_name: 'A',
  },
  business_capability_update: { max_daily_conversation_per_phone: 1_000, max_phone_numbers_per_business: 2 },
  business_status_update: { event: 'COMPROMISED_NOTIFICATION', business_id: '1' },
  account_update: { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'SCHEDULE_FOR_DISABLE' } },
  account_alerts: {
    entity_type: 'WABA',
    alert_info: { alert_severity: 'CRITICAL', alert_type: 'OBA_APPROVED' },
  },
  account_review_update: { decision: 'APPROVED' },
  account_settings_update: {
    phone_number_settings: { phone_number_id: NUMBER, calling: { status: 'ENABLED' } },
  },
  security: { display_phone_number: '1555', event: 'PIN_CHANGED', requester: '1' },
  calls: { contacts, calls: [{ id: 'wacid.1', from: PERSON, to: '1555', event: 'connect', timestamp: AT }] },
  flows: { event: 'FLOW_STATUS_CHANGE', flow_id: '1', old_status: 'DRAFT', new_status: 'PUBLISHED' },
  group_lifecycle_update: { groups: [{ ...group, type: 'group_create', subject: 'Trip' }] },
  group_participants_update: { groups: [{ ...group, added_participants: [{ wa_id: PERSON }] }] },
  group_settings_update: { groups: [{ ...group, group_subject: { text: 'Trip', update_successful: true } }] },
  group_status_update: { groups: [{ ...group, type: 'group_suspend' }] },
  automatic_events: { automatic_events: [{ id: 'wamid.a', event_name: 'LeadSubmitted', timestamp: AT }] },
  partner_solutions: { event: 'SOLUTION_CREATED', solution_id: '1', solution_status: 'INITIATED' },
  payment_configuration_update: { configuration_name: 'pix', status: 'Needs Testing' },
  a_field_of_next_year: { event: 'SOMETHING' },
}

const named = (kind: string, name: string) => `wamid.${kind}.${Buffer.from(name).toString('base64url')}`

/** A message as Meta sends it. */
const messageOf = (name: string) => ({
  from: PERSON,
  id: named('message', name),
  timestamp: AT,
  ...MESSAGES[name],
})

const statusOf = (name: string) => ({
  id: named('status', name),
  timestamp: AT,
  recipient_id: PERSON,
  ...STATUSES[name],
})

export const corpus: readonly Sample[] = [
  ...Object.keys(MESSAGES).map((name) => ({
    name: `message: ${name}`,
    payload: payloadWith(messagesChange({ contacts, messages: [messageOf(name)] })),
    holds: 1,
  })),
  {
    name: 'message: of somebody without a number',
    payload: payloadWith(
      messagesChange({
        contacts: [{ profile: { name: 'Kim', username: '@kim' }, user_id: 'US.13491208655302741918' }],
        messages: [{ ...messageOf('text'), from: undefined, from_user_id: 'US.13491208655302741918' }],
      }),
    ),
    holds: 1,
  },
  ...Object.keys(STATUSES).map((name) => ({
    name: `status: ${name}`,
    payload: payloadWith(messagesChange({ statuses: [statusOf(name)] })),
    holds: 1,
  })),
  ...Object.entries(FIELDS).map(([field, value]) => ({
    name: `field: ${field}`,
    payload: payloadWith({ field, value }),
    holds: 1,
  })),
  {
    name: 'errors of the number',
    payload: payloadWith(messagesChange(errorOf(130429, 'Rate limit hit'))),
    holds: 1,
  },
  {
    name: 'a batch of several numbers and fields',
    payload: payloadWith(
      messagesChange({ contacts, messages: [messageOf('image'), messageOf('order')] }),
      messagesChange({ statuses: [statusOf('read')] }, '903'),
      { field: 'security', value: FIELDS.security ?? {} },
    ),
    holds: 4,
  },
]
