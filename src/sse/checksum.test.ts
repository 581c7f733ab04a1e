import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checksumOf } from './checksum.ts'

test('SSE checksum: the CRC-32 of zlib in eight hexadecimal digits', () => {
  expect(checksumOf(new TextEncoder().encode('123456789'))).toBe('cbf43926')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
      expect(checksumOf(bytes)).toBe(crc32(bytes).toString(16).padStart(8, '0'))
    }),
  )
})
