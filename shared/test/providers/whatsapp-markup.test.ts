import { describe, expect, test } from '@jest/globals'
import { toMarkup } from '@parley/shared/providers/whatsapp/markup'
import fc from 'fast-check'

describe('what was written as Markdown', () => {
  test.each([
    ['bold', '**Total:** R$ 50', '*Total:* R$ 50'],
    ['bold by underscores', 'the __whole__ amount', 'the *whole* amount'],
    ['bold in another script, without blanks around it', '**서울**은 **비**', '*서울*은 *비*'],
    ['bold and italic', '***launch 🚀 now***', '*_launch 🚀 now_*'],
    ['italic in bold', '**_launch_ now**', '*_launch_ now*'],
    ['struck text', '~~old~~ new', '~old~ new'],
    ['a heading', '## Your order\nIt left.', '*Your order*\nIt left.'],
    ['a heading with bold in it', '# Your **big** order ##', '*Your big order*'],
    ['a heading that leads to a page', '## [Help](https://example.com)', 'Help (https://example.com)'],
    ['a link', 'See [the map](https://example.com/a_b).', 'See the map (https://example.com/a_b).'],
    ['a link that says its address', '[https://e.com](https://e.com)', 'https://e.com'],
    ['a link with a title', '[a](https://e.com "the b")', 'a, the b (https://e.com)'],
    ['a link with parentheses', '[a](https://e.com/x_(y))', 'a (https://e.com/x_(y))'],
    ['a link behind a word', 'see[2](https://e.com)', 'see 2 (https://e.com)'],
    ['a bold link', '**[Pay](https://e.com/p)**', '*Pay (https://e.com/p)*'],
    ['an image', '![The fern](https://e.com/f.png)', 'The fern (https://e.com/f.png)'],
    ['an address in angle brackets', '<https://e.com/a__b__c>', 'https://e.com/a__b__c'],
    ['a list with plus signs', '+ one\n+ **two**', '- one\n- *two*'],
    ['bold in a list of asterisks', '* **One**: 1\n* two', '* *One*: 1\n* two'],
    ['a heading in a quotation', '> ### Note\n> **x**', '> *Note*\n> *x*'],
    ['a table', '| a | b |\n|---|:-:|\n| **1** | 2 |\n|3|4|\n\nx', '*a | b*\n*1* | 2\n3 | 4\n\nx'],
    ['all of it in a block of Markdown', '```markdown\n# Hi\n**x**\n```\nBye', '*Hi*\n*x*\nBye'],
    ['a block of Markdown that is not closed', '```md\n**x**', '*x*'],
    ['a table without outer lines', 'Size | Price\n--- | ---\nS | 10', '*Size | Price*\nS | 10'],
  ])('leaves %s as WhatsApp has it', (_name, written, expected) => {
    expect(toMarkup(written)).toBe(expected)
  })

  test.each([
    ['code', 'Use `**a**` and ``b ` **c**``'],
    ['a block of code', '```py\n# **x** = __init__\n[a](b)\n```'],
    ['a block of code that is not closed', 'See\n```\n**x**'],
    ['code in three backticks', '```**x**``` and *y*'],
    ['a URL', 'https://example.com/a**b**c/__init__/~~x~~?q=[a](b)'],
    ['a name in a program', 'call __init__() of foo__bar__baz in __init__.py'],
    ['a power', '2**3 + x**2 and f(x)**2'],
    ['arguments', 'def f(*args, **kwargs)'],
    ['what was escaped', String.raw`\*\*not bold\*\* and \[a](b)`],
    ['an index', 'f[0](x)'],
    ['a hashtag', '#hashtag #2'],
    ['WhatsApp’s own', '*bold* _italic_ ~struck~ ```mono``` `code`\n- a\n* b\n1. c\n> quoted'],
    ['a rule', 'a\n\n---\n\nb'],
    ['no table', 'a | b\nc | d'],
    ['asterisks alone', '* * ** a ** *** ****'],
  ])('has %s as it is', (_name, text) => {
    expect(toMarkup(text)).toBe(text)
  })
})

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '*',
      '**',
      '***',
      '_',
      '__',
      '~~',
      '~',
      '`',
      '```',
      '\n',
      '\n\n',
      '# ',
      '## ',
      '- ',
      '* ',
      '> ',
      '|',
      '|---|---|',
    ],
    ...[
      '[',
      '](',
      ')',
      '!',
      '<',
      '>',
      '\\',
      ' ',
      'word',
      'a_b',
      '1',
      '서울',
      'é',
      '👩‍👩‍👧',
      'www.',
      'https://e.com/a__b',
    ],
  ),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
const written = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
const lettersOf = (text: string) => (text.match(/[\p{L}\p{N}]/gu) ?? []).toSorted().join('')

test('converting twice is converting once, and what is whole stays so', () => {
  fc.assert(
    fc.property(written, (text) => {
      const once = toMarkup(text)
      expect(toMarkup(once)).toBe(once)
      expect(once.isWellFormed()).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('no letter is lost, but that a link says its address once', () => {
  fc.assert(
    fc.property(written, (text) => {
      fc.pre(!/\[[^\]]*https?:/.test(text))
      expect(lettersOf(toMarkup(text))).toBe(lettersOf(text))
    }),
    { numRuns: 2_000 },
  )
})

test('URLs stay as they are, whatever is around them', () => {
  const mark = fc.constantFrom('**', '__', '~~', '***', '', '# ', '- ', '(', ' ')
  fc.assert(
    fc.property(
      fc.webUrl({ withQueryParameters: true }),
      mark,
      mark,
      fc.string(),
      (url, before, after, text) => {
        fc.pre(!/[*_~.,;:!?'"\]|`\\<>[]$|[()]/.test(url))
        expect(toMarkup(`${before}${url} ${after}${text.replaceAll('`', '')}`)).toContain(url)
        expect(toMarkup(`[here](${url})`)).toBe(`here (${url})`)
      },
    ),
  )
})

test.each([
  '[',
  '**',
  '`',
  '``` ',
  '[a](',
  '<https://',
  '__a',
  '~~a ',
  '> ',
  '|',
  '\\',
  '# ',
  '```md\n',
  '```\n',
  'a|b\n-|-\n',
  'https://.',
])('a text of nothing but %j is converted in time in proportion to it', (hostile) => {
  const text = hostile.repeat(Math.ceil(50_000 / hostile.length))
  const began = performance.now()
  toMarkup(text)
  expect(performance.now() - began).toBeLessThan(3_000)
})
