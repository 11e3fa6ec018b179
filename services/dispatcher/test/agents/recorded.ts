/** Answers of each provider's API, as its documentation shows them. The key of a test is `key-of-nobody-4711`. */
export interface Recorded {
  provider: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  /** Where the calls go, below the base URL. */
  path: string
  streamPath?: string
  keyHeader: [name: string, value: string]
  text: object
  call: object
  /** Server-sent events: a name, where the API has one, and the data. */
  streamedText: [name: string | undefined, data: object | string][]
  streamedCall: [name: string | undefined, data: object | string][]
  error: { status: number; body: object; text: string }
  refused: object
}

const openaiResponse = (output: object[], more = {}) => ({
  id: 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b',
  object: 'response',
  created_at: 1741476542,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'gpt-4.1-2025-04-14',
  output,
  parallel_tool_calls: true,
  store: false,
  usage: {
    input_tokens: 36,
    input_tokens_details: { cached_tokens: 12 },
    output_tokens: 87,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 123,
  },
  ...more,
})
const openaiMessage = {
  type: 'message',
  id: 'msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello there', annotations: [] }],
}
const openaiCall = {
  type: 'function_call',
  id: 'fc_67ca09c6bedc8190a7abfec07b1a1332096610f474011cc0',
  call_id: 'call_unLAR8MvFNptuiZK6K6HCy5k',
  name: 'findOrder',
  arguments: '{"id":7}',
  status: 'completed',
}
const openaiStarted = openaiResponse([], { status: 'in_progress', usage: null })

const openai: Recorded = {
  provider: 'openai',
  path: '/responses',
  keyHeader: ['authorization', 'Bearer key-of-nobody-4711'],
  text: openaiResponse([openaiMessage]),
  call: openaiResponse([openaiCall]),
  streamedText: [
    ['response.created', { type: 'response.created', sequence_number: 0, response: openaiStarted }],
    [
      'response.output_item.added',
      {
        type: 'response.output_item.added',
        sequence_number: 1,
        output_index: 0,
        item: { ...openaiMessage, status: 'in_progress', content: [] },
      },
    ],
    ...['Hello', ' there'].map((delta, at): [string, object] => [
      'response.output_text.delta',
      {
        type: 'response.output_text.delta',
        sequence_number: 2 + at,
        item_id: openaiMessage.id,
        output_index: 0,
        content_index: 0,
        delta,
      },
    ]),
    [
      'response.output_item.done',
      { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: openaiMessage },
    ],
    [
      'response.completed',
      { type: 'response.completed', sequence_number: 5, response: openaiResponse([openaiMessage]) },
    ],
  ],
  streamedCall: [
    ['response.created', { type: 'response.created', sequence_number: 0, response: openaiStarted }],
    [
      'response.output_item.added',
      {
        type: 'response.output_item.added',
        sequence_number: 1,
        output_index: 0,
        item: { ...openaiCall, status: 'in_progress', arguments: '' },
      },
    ],
    ...['{"id"', ':7}'].map((delta, at): [string, object] => [
      'response.function_call_arguments.delta',
      {
        type: 'response.function_call_arguments.delta',
        sequence_number: 2 + at,
        item_id: openaiCall.id,
        output_index: 0,
        delta,
      },
    ]),
    [
      'response.output_item.done',
      { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: openaiCall },
    ],
    [
      'response.completed',
      { type: 'response.completed', sequence_number: 5, response: openaiResponse([openaiCall]) },
    ],
  ],
  error: {
    status: 401,
    body: {
      error: {
        message: 'Incorrect API key provided: key-of-******4711. You can find your API key in your settings.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
    },
    text: 'Incorrect API key provided: […] You can find your API key in your settings.',
  },
  refused: openaiResponse([], { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }),
}

const anthropicMessage = (content: object[], stop_reason: string) => ({
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 24, cache_read_input_tokens: 12, cache_creation_input_tokens: 0, output_tokens: 87 },
})
const anthropicStart: [string, object] = [
  'message_start',
  {
    type: 'message_start',
    message: {
      ...anthropicMessage([], ''),
      stop_reason: null,
      usage: {
        input_tokens: 24,
        cache_read_input_tokens: 12,
        cache_creation_input_tokens: 0,
        output_tokens: 1,
      },
    },
  },
]
const anthropicEnd = (reason: string): [string, object][] => [
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  [
    'message_delta',
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 87 },
    },
  ],
  ['message_stop', { type: 'message_stop' }],
]
const anthropicDelta = (delta: object): [string, object] => [
  'content_block_delta',
  { type: 'content_block_delta', index: 0, delta },
]
const anthropicCall = { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'findOrder' }

const anthropic: Recorded = {
  provider: 'anthropic',
  path: '/messages',
  keyHeader: ['x-api-key', 'key-of-nobody-4711'],
  text: anthropicMessage([{ type: 'text', text: 'Hello there' }], 'end_turn'),
  call: anthropicMessage([{ ...anthropicCall, input: { id: 7 } }], 'tool_use'),
  streamedText: [
    anthropicStart,
    [
      'content_block_start',
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    ['ping', { type: 'ping' }],
    anthropicDelta({ type: 'text_delta', text: 'Hello' }),
    anthropicDelta({ type: 'text_delta', text: ' there' }),
    ...anthropicEnd('end_turn'),
  ],
  streamedCall: [
    anthropicStart,
    [
      'content_block_start',
      { type: 'content_block_start', index: 0, content_block: { ...anthropicCall, input: {} } },
    ],
    anthropicDelta({ type: 'input_json_delta', partial_json: '{"id"' }),
    anthropicDelta({ type: 'input_json_delta', partial_json: ':7}' }),
    ...anthropicEnd('tool_use'),
  ],
  error: {
    status: 401,
    body: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    text: 'invalid x-api-key',
  },
  refused: anthropicMessage([], 'refusal'),
}

const googleResponse = (parts: object[], finishReason = 'STOP') => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }],
  usageMetadata: {
    promptTokenCount: 36,
    cachedContentTokenCount: 12,
    candidatesTokenCount: 87,
    totalTokenCount: 123,
  },
  modelVersion: 'gemini-2.5-flash',
  responseId: 'mAitaLmkHPPlz7IPvtfUqQ4',
})
const googleCall = { functionCall: { name: 'findOrder', args: { id: 7 } } }

const google: Recorded = {
  provider: 'google',
  path: '/models/some-model:generateContent',
  streamPath: '/models/some-model:streamGenerateContent?alt=sse',
  keyHeader: ['x-goog-api-key', 'key-of-nobody-4711'],
  text: googleResponse([{ text: 'Hello there' }]),
  call: googleResponse([googleCall]),
  streamedText: [
    [undefined, { candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, index: 0 }] }],
    [undefined, googleResponse([{ text: ' there' }])],
  ],
  streamedCall: [[undefined, googleResponse([googleCall])]],
  error: {
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
      },
    },
    text: 'API key not valid. Please pass a valid API key.',
  },
  refused: googleResponse([], 'SAFETY'),
}

const compatibleResponse = (message: object, finish_reason: string) => ({
  id: 'chatcmpl-123',
  object: 'chat.completion',
  created: 1677652288,
  model: 'llama-3.3-70b',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
  usage: {
    prompt_tokens: 36,
    completion_tokens: 87,
    total_tokens: 123,
    prompt_tokens_details: { cached_tokens: 12 },
  },
})
const compatibleChunk = (delta: object, finish_reason: string | null = null): [undefined, object] => [
  undefined,
  {
    id: 'chatcmpl-123',
    object: 'chat.completion.chunk',
    created: 1694268190,
    model: 'llama-3.3-70b',
    choices: [{ index: 0, delta, finish_reason }],
  },
]
const compatibleEnd: [undefined, object | string][] = [
  [
    undefined,
    {
      id: 'chatcmpl-123',
      object: 'chat.completion.chunk',
      created: 1694268190,
      model: 'llama-3.3-70b',
      choices: [],
      usage: {
        prompt_tokens: 36,
        completion_tokens: 87,
        total_tokens: 123,
        prompt_tokens_details: { cached_tokens: 12 },
      },
    },
  ],
  [undefined, '[DONE]'],
]
const compatibleCall = { id: 'call_abc123', type: 'function', function: { name: 'findOrder' } }

const compatible: Recorded = {
  provider: 'openai-compatible',
  path: '/chat/completions',
  keyHeader: ['authorization', 'Bearer key-of-nobody-4711'],
  text: compatibleResponse({ content: 'Hello there' }, 'stop'),
  call: compatibleResponse(
    { tool_calls: [{ ...compatibleCall, function: { name: 'findOrder', arguments: '{"id":7}' } }] },
    'tool_calls',
  ),
  streamedText: [
    compatibleChunk({ role: 'assistant', content: '' }),
    compatibleChunk({ content: 'Hello' }),
    compatibleChunk({ content: ' there' }),
    compatibleChunk({}, 'stop'),
    ...compatibleEnd,
  ],
  streamedCall: [
    compatibleChunk({
      role: 'assistant',
      content: null,
      tool_calls: [{ index: 0, ...compatibleCall, function: { name: 'findOrder', arguments: '' } }],
    }),
    compatibleChunk({ tool_calls: [{ index: 0, function: { arguments: '{"id"' } }] }),
    compatibleChunk({ tool_calls: [{ index: 0, function: { arguments: ':7}' } }] }),
    compatibleChunk({}, 'tool_calls'),
    ...compatibleEnd,
  ],
  error: {
    status: 404,
    body: { error: { message: 'The model does not exist', type: 'NotFoundError', param: null, code: 404 } },
    text: 'The model does not exist',
  },
  refused: compatibleResponse({ content: '' }, 'content_filter'),
}

export const RECORDED: Recorded[] = [openai, anthropic, google, compatible]
