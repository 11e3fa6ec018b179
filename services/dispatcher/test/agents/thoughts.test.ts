import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ThoughtFilter, withoutThoughts } from '../../src/agents/model/thoughts.ts'

const SECRET = 'margin is 40%'

describe('a text without what the model thinks', () => {
  test.each([
    ['a thought before it', `<think>\n${SECRET}\n</think>\n\nHello.`, 'Hello.'],
    ['another name', `<thinking>${SECRET}</thinking>Hello.`, 'Hello.'],
    ['another name', `<reasoning>${SECRET}</reasoning>Hello.`, 'Hello.'],
    ['another name', `<thought>${SECRET}</thought>Hello.`, 'Hello.'],
    ['a prefix of the model', `<seed:think>${SECRET}</seed:think>Hello.`, 'Hello.'],
    ['a prefix of the model', `<longcat_think>${SECRET}</longcat_think>Hello.`, 'Hello.'],
    ['a prefix of the model', `<thinking>${SECRET}</thinking>Hello.`, 'Hello.'],
    [
      'a suffix of the model',
      `<think_never_used_51bce0c785>${SECRET}</think_never_used_51bce0c785>Hello.`,
      'Hello.',
    ],
    ['attributes', `<think lang="en" budget='3'>${SECRET}</think>Hello.`, 'Hello.'],
    ['upper case', `<THINK>${SECRET}</Think>Hello.`, 'Hello.'],
    ['blanks in the tags', `< think >${SECRET}</ think >Hello.`, 'Hello.'],
    ['names that differ', `<think>${SECRET}</thinking>Hello.`, 'Hello.'],
    ['no end', `Hello.\n<think>${SECRET}`, 'Hello.'],
    ['a tag that is cut off', `Hello.\n<think ${SECRET}`, 'Hello.'],
    ['no beginning', `${SECRET}\n</think>\n\nHello.`, 'Hello.'],
    ['an end alone, twice', `${SECRET}</think>${SECRET}</think>Hello.`, 'Hello.'],
    ['one inside of another', `<think>${SECRET}<think>x</think>${SECRET}</think>Hello.`, 'Hello.'],
    ['several', `<think>${SECRET}</think>Hello <think>${SECRET}</think>you.`, 'Hello you.'],
    ['paragraphs around it', `One.\n\n<think>${SECRET}</think>\n\nTwo.`, 'One.\n\nTwo.'],
    ['nothing else', `\n<think>${SECRET}</think>\n`, ''],
    ['nothing in it', '<think/>Hello.<think></think>', 'Hello.'],
    ['code inside of it', `<think>\`\`\`\n${SECRET}</think>Hello.`, 'Hello.'],
    ['its own tag as code inside of it', `<think>\`</think>\` ${SECRET}</think>Hello.`, 'Hello.'],
    ['a fence that is not closed before it', `\`\`\`\n<think>${SECRET}</think>`, '```\n'],
    ['tokens of Mistral', `[THINK]${SECRET}[/THINK]Hello.`, 'Hello.'],
    ['tokens of Kimi', `◁think▷${SECRET}◁/think▷Hello.`, 'Hello.'],
    [
      'tokens of Cohere',
      `<|START_THINKING|>${SECRET}<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>`,
      'Hello.',
    ],
    ['tokens of others', `<|begin_of_thought|>${SECRET}<|end_of_thought|>Hello.`, 'Hello.'],
    [
      'channels',
      `<|channel|>analysis<|message|>${SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>`,
      'Hello.',
    ],
    ['a channel that is the only one', `<|channel|>analysis<|message|>${SECRET}`, ''],
    [
      'a channel with a call',
      `<|channel|>commentary to=a <|constrain|>json<|message|>${SECRET}<|call|>Hello.`,
      'Hello.',
    ],
    ['a channel whose beginning is missing', `${SECRET}<|channel|>final<|message|>Hello.`, 'Hello.'],
    ['channels without their tokens', `analysis${SECRET}assistantfinalHello.`, 'Hello.'],
    ['facts that it was given', `<data>\n{"phone":"${SECRET}"}\n</data>\n\nHello.`, 'Hello.'],
    ['facts without an end', `Hello.\n<data>\n${SECRET}`, 'Hello.'],
    ['an end of facts alone', 'Hello.</data>', 'Hello.'],
    ['channels of Gemma', `<|channel>thought\n${SECRET}<channel|>Hello.`, 'Hello.'],
  ])('has %s', (_name, said, left) => {
    expect(withoutThoughts(said).trimEnd()).toBe(left.trimEnd())
  })

  test.each([
    'Write `<think>` to think, and `</think>` to end.',
    '```xml\n<think>\nan example\n</think>\n```\nThat is how.',
    '~~~\n</think>\n~~~\n',
    '``<think> with ` in it``',
    'a < b, b <c and [1] <em>x</em> [link](https://example.com) <thinker> <reasoning-step>x</reasoning-step>',
    'Analysis of the final report.',
    ' \n What comes with blanks \n ',
    'The end of it<',
  ])('is the same where nothing of it is a thought: %j', (text) => {
    expect(withoutThoughts(text)).toBe(text)
  })
})

const part = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 6 }) },
  fc.constantFrom(
    ...[
      '<think>',
      '</think>',
      '<THINKING a="b">',
      '</thinking>',
      '<think',
      '<',
      '</',
      '[THINK]',
      '[/THINK]',
      '[',
    ],
    ...[
      '`',
      '``',
      '```',
      '\n```\n',
      '```js\n',
      '~~~',
      '\n',
      ' ',
      '◁think▷',
      '◁/think▷',
      '<|',
      '|>',
      '<b>',
      'think>',
    ],
    ...[
      '<|channel|>analysis<|message|>',
      '<|end|>',
      '<|start|>assistant',
      '<|channel|>final<|message|>',
      '<|channel|>',
    ],
    ...[
      '<|channel>thought',
      '<channel|>',
      'analysis',
      'assistantfinal',
      '<seed:think>',
      '</seed:think>',
      '<think/>',
    ],
  ),
)
const parts = fc.array(part, { maxLength: 24 })

describe('however a text is cut into pieces', () => {
  test.each([true, false])(
    'all that leaves is the same (a thought may begin in the prompt: %s)',
    (mayBeginInPrompt) => {
      const left = (pieces: string[]): string => {
        const filter = new ThoughtFilter({ mayBeginInPrompt })
        const passed = pieces.map((piece) => filter.push(piece)).join('')
        return passed + filter.end().join('')
      }
      const cuts = fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 12 })
      fc.assert(
        fc.property(parts, cuts, (words, sizes) => {
          const text = words.join('')
          const pieces: string[] = []
          for (let at = 0, n = 0; at < text.length; n++) {
            const size = (sizes[n % sizes.length] ?? 0) + 1
            pieces.push(text.slice(at, at + size))
            at += size
          }
          expect(left(pieces)).toBe(left([text]))
          if (mayBeginInPrompt) expect(left(pieces)).toBe(withoutThoughts(text))
        }),
        { numRuns: 3_000 },
      )
    },
  )

  test('nothing of a thought leaves before it is over, and what is said after it leaves at once', () => {
    const filter = new ThoughtFilter({ mayBeginInPrompt: false })
    const passed = ['Hi ', '<th', 'ink>', SECRET, '</thi', 'nk>', 'you', '.'].map((piece) =>
      filter.push(piece),
    )
    expect(passed).toEqual(['Hi ', '', '', '', '', '', 'you', '.'])
  })

  test.each([
    ['marks', '<think>'],
    ['marks that say nothing', '</think>'],
    ['beginnings of marks', '<'],
    ['beginnings of tags', '<a'],
    ['tags', '<thinker>'],
    ['beginnings of tokens', '<|'],
    ['brackets', '[t'],
    ['backquotes', '`'],
    ['fences that are not closed', '```x\n'],
    ['spans that are not closed', '`a``b'],
    ['single backquotes', 'a`\n'],
    ['tildes', '~a'],
    ['channels', '<|channel|>x'],
    ['growing runs of backquotes', Array.from({ length: 500 }, (_, n) => `${'`'.repeat(n)}a`).join('')],
  ])('128 K characters of %s, the most that is looked at, do not hold the event loop', (_name, one) => {
    const text = one.repeat(Math.ceil((128 * 1024) / one.length))
    const streamed = () => {
      const filter = new ThoughtFilter({ mayBeginInPrompt: false })
      for (let at = 0; at < text.length; at += 4) filter.push(text.slice(at, at + 4))
      filter.end()
    }
    expect(busyMsOf(() => withoutThoughts(text))).toBeLessThan(100)
    // All of it, while the event loop goes on: that it is linear.
    expect(busyMsOf(streamed)).toBeLessThan(1_000)
  })
})

function busyMsOf(run: () => unknown): number {
  const started = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(started)
  return (user + system) / 1_000
}
