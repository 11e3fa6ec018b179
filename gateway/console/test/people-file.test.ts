import { describe, expect, test } from '@jest/globals'
import { guessColumns, importKeyOf, openPeopleFile, Workbook, withColumns } from '../src/people-file.ts'

const fileOf = (content: BlobPart, name = 'people.csv') => new File([content], name, { lastModified: 1 })
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
const utf16 = (text: string) => new Uint8Array(Buffer.from(`\uFEFF${text}`, 'utf16le'))
const bigEndian = (text: string) => new Uint8Array(Buffer.from(`\uFEFF${text}`, 'utf16le').swap16())
const open = async (content: BlobPart) => {
  const file = await openPeopleFile(fileOf(content))
  const columns = guessColumns(file.headings, ['city'])
  return { file, columns, sent: await withColumns(file, columns).text() }
}

describe('a file of people', () => {
  test.each<[string, BlobPart]>([
    ['in UTF-8', 'telefone,nome\n5511,João\n'],
    ['with a BOM', '\uFEFFtelefone,nome\n5511,João\n'],
    ['with a BOM and quotes', '\uFEFF"telefone","nome"\n5511,João\n'],
    ['in Latin-1', latin1('telefone,nome\n5511,João\n')],
    ['in UTF-16', utf16('telefone,nome\n5511,João\n')],
    ['in UTF-16, big end first', bigEndian('telefone,nome\n5511,João\n')],
    ['with capitals, accents and spaces', ' Teléfono , Nome\n5511,João\n'],
    ['that says its separator', 'sep=,\ntelefone,nome\n5511,João\n'],
  ])('%s is read by its header', async (_how, content) => {
    const { file, columns, sent } = await open(content)
    expect([columns, file.rows]).toEqual([['phone', 'name'], [['5511', 'João']]])
    expect(sent).toBe('"phone","name"\n5511,João\n')
  })

  test.each([
    [';', 'phone;name\r\n5511;"Lima; Ana"\r\n', ['5511', 'Lima; Ana']],
    ['\t', 'phone\tname\r5511\tAna\r', ['5511', 'Ana']],
    [';', 'phone;"name, or none"\n5511;a,b,c,d\n', ['5511', 'a,b,c,d']],
    [',', 'phone,name\n\n5511,"Ana ""Nana""\nLima"', ['5511', 'Ana "Nana"\nLima']],
  ])('has its columns separated by %j in %j', async (separator, text, row) => {
    const { file } = await open(text)
    expect([file.separator, file.rows[0]]).toEqual([separator, row])
  })

  test('goes on behind a header of several lines, whose rows are counted from there', async () => {
    const { file, sent } = await open('phone,"shoe\nsize"\n5511,42\n')
    expect([file.line, sent]).toEqual([3, '"phone",""\n5511,42\n'])
  })

  test('that has a header alone, or nothing, has no rows', async () => {
    expect((await open('phone,name')).file.rows).toEqual([])
    expect((await open('')).file.headings).toEqual([])
  })

  test('of JSON is sent as it is', async () => {
    const text = '{"addresses":["phone:5511"]}\n'
    const file = await openPeopleFile(fileOf(text, 'people.ndjson'))
    expect([file.rows, await withColumns(file, []).text()]).toEqual([[[text.trim()]], text])
  })

  test('is none where it is a workbook', async () => {
    await expect(open('PK\u0003\u0004')).rejects.toThrow(Workbook)
  })

  test('has each thing in one column', () => {
    expect(guessColumns(['Celular', 'Telefone', 'City', 'other'], ['city'])).toEqual([
      ...['phone', '', 'attributes.city', ''],
    ])
  })

  test('has the name of its import by what is sent of it', async () => {
    const { file } = await open('phone,name\n5511,Ana\n')
    const keyOf = (columns: string[], tags = '') =>
      importKeyOf(file, { content: withColumns(file, columns), tags })
    const key = await keyOf(['phone', 'name'])
    expect(await keyOf(['phone', 'name'])).toBe(key)
    expect(await keyOf(['phone', ''])).not.toBe(key)
    expect(await keyOf(['phone', 'name'], 'vip')).not.toBe(key)
  })
})
