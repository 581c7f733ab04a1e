import { testFaults } from './short.ts'

testFaults('sqlite', ['kill', 'sigstop', 'full-disk'])
