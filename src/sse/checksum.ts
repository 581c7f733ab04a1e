/** CRC-32 of a record, which a cursor uses to identify its event. Small and portable rather than fast: computed once per connection. */

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** Eight hexadecimal digits. */
export function checksumOf(bytes: Uint8Array): string {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 0xff]!
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0')
}
